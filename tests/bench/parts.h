/* A written kernel as the bench sees it: the suite's descriptor, and the layer's parts one by one.
 */
#ifndef PARTS_H
#define PARTS_H

#include "kernel.h"

enum matrix { WQ, WK, WV, WO };

struct parts {
    const struct kernel *kernel;
    /* The rest is NULL without a layer, `rotate` without rope. With the instruction set in use. */
    void (*project)(enum matrix matrix, const void *weights, const float *x, size_t n, float *y);
    /* x [n][heads][head_dim], at pos of a sequence of `length` */
    void (*rotate)(float *x, size_t n, size_t heads, size_t pos, size_t length);
};

/* The registry, written by whoever builds the bench. */
extern const struct parts *const parts[];
extern const size_t parts_count;

#endif
