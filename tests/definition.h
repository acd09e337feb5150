/* The numerics promise as a program: every float operation of attention and projection in its
 * order. What a kernel computes must be this, bit for bit, on every instruction set; on one without
 * a fused multiply-add, which is_fused() tells, with every product rounded before it is added. */
#ifndef DEFINITION_H
#define DEFINITION_H

#include "kernel.h"

/* Shapes as in reference.h. */
void definition_attention(const struct kernel *kernel, const float *q, const float *k,
                          const float *v, size_t rows, const struct extras *extras,
                          const struct view *views, float *out);

/* extras->lse, if not NULL, takes the log-sum-exps, [rows][heads]; rows of n queries are merged. */
void definition_merge(const struct kernel *kernel, float *out, float *lse, const float *other,
                      const float *other_lse, size_t n);

void definition_project(const struct kernel *kernel, const float *w, const float *bias, bool in_out,
                        const float *x, size_t rows, size_t inputs, size_t outputs, float *y);

void definition_norm(const struct kernel *kernel, const float *w, const float *bias, float *x,
                     size_t heads);

void definition_block_norm(const struct kernel *kernel, const float *w, const float *bias,
                           float *x);
void definition_residual(const struct kernel *kernel, const float *x, const float *scale, float *a);
void definition_feed_forward(const struct kernel *kernel, const struct block_weights *w,
                             const float *x, size_t rows, float *y);
float definition_activation(bool fused, const char *act, float x);

#endif
