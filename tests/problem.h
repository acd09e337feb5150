/* Inputs for one attention or one layer, the ways to compute them with a kernel, and what has to
 * come out. Nothing that is made here is freed: a process runs one test. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <stdint.h>

#include "guard.h"
#include "kernel.h"
#include "reference.h"

/* `count` floats in [-amplitude, amplitude), exact multiples of amplitude / 2^23: as the fixed
 * vectors say (its neighbours at a distance of a power of two are alike), and well mixed. */
void fill(float *to, size_t count, uint32_t seed, float amplitude);
void fill_mixed(float *to, size_t count, uint32_t seed, float amplitude);

/* Zeros, or the end of the test. */
void *make(size_t count, size_t size);

/* What the numbers are like: KINDS of them. */
enum kind {
    EVEN,      /* all weights of a row are alike in size */
    SHARP,     /* few keys matter; the weights of most underflow */
    RISING,    /* later keys score higher: every block of keys moves the maximum */
    SUBNORMAL, /* q and k below the normal range, v around its end */
    KINDS
};

struct problem {
    const struct kernel *kernel;
    size_t n;       /* keys at the positions 0..n-1 */
    size_t rows;    /* queries at the last `rows` of these positions */
    size_t checked; /* expected values are made for the last `checked` of the rows */
    float *q, *k, *v;
    struct extras extras;
    /* A layer has x [rows][d_model] in place of q, and k, v only for the positions before it. */
    float *x;
    float *source; /* of cross attention, [n][source_width]: all keys and values are made of it */
    struct weights weights;
    bool whole; /* the block, not the layer alone */
    struct block_weights block_weights;
    const void *packed;
};

/* Numbers of keys worth a test within the kernel's capacity and within reason, the most important
 * first; an exact kernel's capacity is the first. */
enum { EDGES = 20 };
size_t edges(const struct kernel *kernel, size_t list[EDGES]);

/* How many keys there may be, and as many positions as queries and keys may both have. */
size_t key_capacity(const struct kernel *kernel);
size_t longest(const struct kernel *kernel);

/* Multiply-adds of a problem. */
size_t attention_work(const struct kernel *kernel, size_t n, size_t rows);
size_t layer_work(const struct kernel *kernel, size_t n, size_t rows);
size_t block_work(const struct kernel *kernel, size_t n, size_t rows);

/* How many of n rows to compute where one takes `each` multiply-adds: as many as are cheap, or
 * `least` as far as that is bearable. All if the kernel is exact and n its capacity. */
size_t some_rows(const struct kernel *kernel, size_t n, size_t each, size_t least);

/* What a test may take: about so many multiply-adds of scalar C, well below a second. `spend` gives
 * false, and takes nothing, if not enough is left. */
struct budget {
    size_t left;
};
extern const struct budget FULL;
bool spend(struct budget *budget, size_t work);

/* So much of a budget is some work for the kernel, on its instruction set of now. */
size_t cost(const struct kernel *kernel, size_t work);

/* A kernel that takes masks, or a range of keys, gets one of every kind of row; unmasked_problem
 * has none. */
struct problem attention_problem(const struct kernel *kernel, size_t n, size_t rows,
                                 enum kind kind);
struct problem unmasked_problem(const struct kernel *kernel, size_t n, size_t rows, enum kind kind);
/* Where the values of n keys are channels of these, v says so once more; else nothing. */
void take_values(const struct kernel *kernel, size_t n, const float *k, float *v);
/* Extras that hide nothing, with random sinks where the kernel takes some. */
struct extras open_extras(const struct kernel *kernel);
struct problem layer_problem(const struct kernel *kernel, size_t n, size_t rows,
                             const struct weights *weights, const void *packed);
/* `packed` as of pack_block. */
struct problem block_problem(const struct kernel *kernel, size_t n, size_t rows,
                             const struct weights *weights, const struct block_weights *block,
                             const void *packed);

/* Weights of the norm of q or k, which has so many heads. */
size_t norm_size(const struct kernel *kernel, size_t heads);

/* Floats of each array of the kernel's weights, in the order of the struct; 0: it lacks it. */
struct array_size {
    size_t count, inputs; /* so many inputs that are summed make an output */
};
void weight_sizes(const struct kernel *kernel, struct array_size sizes[ARRAYS]);

/* Source weights as the kernel takes them: outputs are about as large as inputs. The same arrays as
 * the last time if kernel and seed are: the next instruction set's turn need not make them. */
struct weights random_weights(const struct kernel *kernel, uint32_t seed);
/* The same, all zeros, biases too: tests set single elements with `at`. */
struct weights zero_weights(const struct kernel *kernel);
/* A sink of the kernel's heads, some of them above all scores; NULL where it has none. */
float *random_sinks(const struct kernel *kernel);
/* Element of a matrix of `weights`: from channel `input` to channel `output`, of so many. */
float *at(const struct kernel *kernel, const float *matrix, size_t input, size_t inputs,
          size_t output, size_t outputs);
void *pack(const struct kernel *kernel, const struct weights *weights);
/* The same for a block. The shape of each array of struct block_weights, in its order: inputs (0: a
 * vector) and outputs; 0 outputs: the kernel has none. */
void block_shapes(const struct kernel *kernel, size_t shapes[BLOCK_ARRAYS][2]);
struct block_weights random_block_weights(const struct kernel *kernel, uint32_t seed);
void *pack_block(const struct kernel *kernel, const struct weights *weights,
                 const struct block_weights *block);

/* One way to compute a problem. The bits that come out must not depend on it. */
struct way {
    const char *name;
    bool cache;
    size_t chunk;   /* queries a call; 0: all in one */
    size_t threads; /* of the pool; 0: none */
    bool reversed;  /* the pool runs its tasks one by one, the last first */
    int garbage;    /* the byte that scratch and cache are full of before */
    enum place place;
    bool in_place; /* the result goes where q or x was */
};
extern const struct way ways[];
extern const size_t way_count;
extern const struct way DIRECT, CACHED;

/* Whether number `size` of the edges is to be computed in this one of the ways: the first two in
 * all, the others in a third of them each, so that every way meets a third of these. */
bool is_turn(const struct way *way, size_t size);

/* True if the way can compute the problem. */
bool attention_fits(const struct problem *problem, const struct way *way);
bool layer_fits(const struct problem *problem, const struct way *way);

/* Results for all rows: [rows][heads][v_head_dim], [rows][d_model]; run_layer runs the block if the
 * problem is a whole one. Every buffer is exact-sized
 * against a guard page; a status other than 0 ends the test. */
void attend(const struct problem *problem, const struct way *way, float *out);
void run_layer(const struct problem *problem, const struct way *way, float *y);

/* Empties a cache for a sequence of `length` in all; the status. */
int reset_for(const struct kernel *kernel, void *cache, size_t length);

/* Number of floats in the results of all rows, and of the checked rows (the last). */
size_t attention_size(const struct problem *problem, size_t rows);
size_t layer_size(const struct problem *problem, size_t rows);

/* What a row at `position` sees of `held` keys, by position alone. */
struct view view_at(const struct kernel *kernel, ptrdiff_t position, size_t held);
/* The same for a row of the problem, by its mask too. */
struct view view_of(const struct problem *problem, size_t row, size_t held);
/* The problem's extras for its rows from `row` on. */
struct extras extras_from(const struct problem *problem, size_t row);

/* Whether the cache holds the latest positions only. */
bool is_ring(const struct kernel *kernel);

/* Whether a result depends on where queries stand. */
bool knows_positions(const struct kernel *kernel);

/* What must come out for the checked rows: by the reference, and to the bit. `views`: what
 * each row sees, NULL as it should be. `lse`, NULL: not wanted; the bits of it go where the
 * problem's own should, as those of `attend` do for all rows. A layer that isn't causal shows each
 * row what its call's chunk brings; `chunk` as in struct way. No layer_bits with rope: its angles
 * are not part of the definition. */
void attention_reference(const struct problem *problem, const struct view *views,
                         struct bounded *out, struct bounded *lse);
void attention_bits(const struct problem *problem, float *out);
void layer_reference(const struct problem *problem, size_t chunk, struct bounded *y);
void layer_bits(const struct problem *problem, size_t chunk, float *y);

/* What a layer puts into its cache as the key at `pos`, when its projections make k [head_dim] for
 * each KV head. The cache is opaque, so attention tells: its answers are as good as about 3e-7
 * times |k|, as long as the key is near `expected` [head_dim]; where it is not, the result is far
 * off or infinite. A kernel with a norm has the weights `norm` [head_dim] (a unit offset included),
 * NULL for ones. observed [kv_heads][head_dim]. The kernel needs a second position. */
void key_in_cache(const struct kernel *kernel, const float *k, const float *norm, size_t pos,
                  const float *expected, double *observed);

/* Head `head` of `from` [n][heads][width] as head `to_head` of `to` [n][to_heads][width]. */
void copy_head(const float *from, size_t n, size_t heads, size_t head, float *to, size_t to_heads,
               size_t to_head, size_t width);

#endif
