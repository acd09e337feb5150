/* A written kernel as the bench sees it: the suite's descriptor, and its parts one by one. */
#ifndef PARTS_H
#define PARTS_H

#include "kernel.h"

enum matrix { WQ, WK, WV, WO };

enum { BLOCK_KEYS = 512, SCORE_STRIDE = BLOCK_KEYS + 16 };

/* The softmax of one instruction set: rows of scores, s [rows][SCORE_STRIDE], of which each row
 * sees `limit` keys; m, l [rows][16] and decay as the kernels keep them. */
struct pass {
    const char *isa;
    void (*run)(float *s, float *m, float *l, float *decay, int rows, const int *limit);
};

struct parts {
    const struct kernel *kernel;
    /* At most so many rows, all of which see BLOCK_KEYS keys of one KV head: scores, softmax,
     * values. Gives their number. q and out as for attention; kv is packed; for a capacity of
     * BLOCK_KEYS and more. With the instruction set in use. */
    size_t (*attend_block)(size_t most_rows, const float *q, const float *kv, float *out,
                           void *scratch);
    const struct pass *softmaxes; /* up to one without a name */
    /* The rest is NULL without a layer and with mla, `prepare` without rope and norms. With the
     * instruction set in use. */
    void (*project)(enum matrix matrix, const void *weights, const float *x, size_t n, float *y);
    /* Norms and rotates q [n][heads][head_dim] and k, at pos of a sequence of pos + n. */
    void (*prepare)(const void *weights, float *q, float *k, size_t n, size_t pos);
};

/* The registry, written by whoever builds the bench. */
extern const struct parts *const parts[];
extern const size_t parts_count;

#endif
