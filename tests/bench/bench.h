/* The parts of the bench: bench.c takes the times, report.c writes them down, versus.c brings in
 * other libraries. */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "machine.h"
#include "parts.h"

extern struct options {
    double seconds;
    bool scalar, json;
    const char *only, *out;
} options;
extern struct machine machine;

_Noreturn void fail(const char *what, const char *why);

/* Aligned memory that free() frees. */
void *room(size_t bytes);

/* One kernel and its memory. */
enum { SETS = 16, ID_SIZE = 32 };

struct subject {
    const struct parts *parts;
    const struct kernel *kernel;
    char isas[SETS][ID_SIZE]; /* those that are to be timed */
    size_t isa_count;
    float *q, *k, *v, *mixed, *x, *out, *expected;
    struct extras extras; /* of the task's calls */
    void *given;          /* their mask or biases, to be freed */
    void *cache, *weights, *block_weights, *scratch;
    struct weights source;
};

static inline size_t q_width(const struct kernel *kernel) {
    return kernel->heads * kernel->head_dim;
}
static inline size_t k_width(const struct kernel *kernel) {
    return kernel->kv_heads * kernel->head_dim;
}
static inline size_t v_width(const struct kernel *kernel) {
    return kernel->kv_heads * kernel->v_head_dim;
}
static inline size_t o_width(const struct kernel *kernel) {
    return kernel->heads * kernel->v_head_dim;
}

/* What is timed. */
enum kind { ATTENTION, PROJECTION, LAYER, WHOLE_BLOCK };

struct task {
    enum kind kind;
    size_t n, pos;             /* rows, and where the first one stands */
    const struct input *input; /* what its mask or biases show; NULL: it has none */
    bool cached;               /* keys come from the cache, those of a layer's own rows included */
    char name[64];
    double flops, bytes; /* bytes: what must be read, if only once */
};

/* Whoever is timed, in turns with the others. */
enum piece { PROJECT_IN, ROTATE, ATTEND, PROJECT_OUT, PIECES };
enum { SAMPLES = 4096 };

struct contender {
    void (*run)(struct contender *self);
    struct subject *subject;
    const struct task *task;
    const char *isa; /* ours, the limits' */
    const struct vectors *vectors;
    size_t threads, streams;
    struct team team;
    struct pool pool;
    struct contender *pieces; /* [PIECES], of a layer that is run piece by piece */
    const struct peer *peer;
    void *state; /* of the peer */
    double best;
    double *times;
    size_t count;
};

struct contender contender(void (*run)(struct contender *), struct subject *subject,
                           const struct task *task, const char *isa);

/* The task's contenders, in turn: for each instruction set ours, with two threads, piece by piece;
 * then its limits. */
struct field {
    struct contender all[256];
    size_t count, ours; /* ours: so many of them, first */
    size_t plain;       /* where the same without features begin, and then the limits */
    float *peer_w;      /* weights in the peers' order, to be freed */
    struct contender pieces[SETS][PIECES];
};

struct contender *enter(struct field *field, struct contender who);

void run_fma(struct contender *self);
void run_read(struct contender *self);
/* Bytes that one run_read reads. */
size_t read_bytes(const struct contender *self);
/* Floats of a task's result. */
size_t output_size(const struct kernel *kernel, const struct task *task);

/* ---- report.c ---- */

/* NAN: does not apply, or is not known. Times in seconds, rates per second. */
struct row {
    const char *spec, *peer;
    char isa[ID_SIZE], name[80]; /* isa: empty for a peer */
    size_t threads, code, scratch;
    double min, median, flops, bytes, rate; /* rate: bytes / min, where memory may be the limit */
    double peak, usual_peak, read, bound;   /* limits: FLOP/s, their median, bytes/s, a time */
    double pieces;                          /* sum of the layer's pieces / min */
    double plain;                           /* min / that of the same without features */
    double ratio;                           /* times that ours is faster than the peer */
};

extern struct row *rows;
extern size_t row_count;

/* A row for what a contender reached, still without limits. `piece`: of a layer, or NULL. */
struct row *add_row(struct contender *from, const char *piece);
/* Fills in the limits of instruction set `isa`, as far as they were timed. */
void set_limits(struct row *row, struct field *field, const char *isa);

void print_head(void);
void print_subject(const struct subject *own);
void print_row(const struct row *row, double with_two);
void print_cell(int width, double value, const char *format); /* NAN: blank */
void print_json(FILE *to);
void write_results(void);

/* ---- versus.c: only where it is linked ---- */

#define OPTIONAL __attribute__((weak))
OPTIONAL void start_peers(void);
OPTIONAL void enter_peers(struct field *field, struct subject *own, const struct task *task);
/* `first`: the first of the task's rows. */
OPTIONAL void report_peers(struct field *field, size_t first);
OPTIONAL void print_ratios(void);

#endif
