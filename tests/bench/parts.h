/* A written kernel as the bench sees it: the suite's descriptor, and the layer's parts one by one.
 */
#ifndef PARTS_H
#define PARTS_H

#include "kernel.h"

enum matrix { WQ, WK, WV, WO };

struct parts {
    const struct kernel *kernel;
    /* The rest is NULL without a layer, `prepare` without rope and norms. With the instruction set
     * in use. */
    void (*project)(enum matrix matrix, const void *weights, const float *x, size_t n, float *y);
    /* Norms and rotates q [n][heads][head_dim] and k, at pos of a sequence of pos + n. */
    void (*prepare)(const void *weights, float *q, float *k, size_t n, size_t pos);
};

/* The registry, written by whoever builds the bench. */
extern const struct parts *const parts[];
extern const size_t parts_count;

#endif
