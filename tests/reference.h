/* The attention, projection and rotation of the text book in double precision, with plain loops,
 * and beside every number how far a float kernel may be from it. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "kernel.h"

/* A true value, and the sum of the squares of what each rounding on the way to the float that
 * stands for it may have added. */
struct bounded {
    double value, squares;
};

/* How far the float may be off. */
double reference_bound(struct bounded number);

/* The first `count` of `from`, exact. */
void reference_load(const float *from, size_t count, struct bounded *to);

/* Whether head `head` of a row sees key j; whether it sees any. */
bool view_sees(const struct view *view, size_t head, size_t j);
bool view_sees_any(const struct view *view, size_t head);

/* q [rows][heads][head_dim], k [..][kv_heads][head_dim], v [..][kv_heads][v_head_dim]; row i sees
 * the keys of views[i]. `extras` as the kernel takes them, but for the masks, which the views have.
 * out [rows][heads][v_head_dim], lse [rows][heads] or NULL. */
void reference_attention(const struct kernel *kernel, const struct bounded *q,
                         const struct bounded *k, const struct bounded *v, size_t rows,
                         const struct extras *extras, const struct view *views, struct bounded *out,
                         struct bounded *lse);

/* Clamps x to the kernel's limits of q, k and v, where it has some. */
void reference_clip(const struct kernel *kernel, struct bounded *x, size_t count);

/* The bucket of T5's relative biases for a key at so many positions after the query. */
size_t reference_bucket(const struct kernel *kernel, ptrdiff_t after);

/* The slope of ALiBi of a head: by the paper for a power of two of heads, and for the others every
 * second one of twice as many. */
double reference_slope(const struct kernel *kernel, size_t head);

/* y[r][o] = bias[o] + sum over i of W(o, i) x[r][i]; W(o, i) is w[i][o] if in_out, else w[o][i].
 * bias may be NULL. */
void reference_project(const struct kernel *kernel, const float *w, const float *bias, bool in_out,
                       const struct bounded *x, size_t rows, size_t inputs, size_t outputs,
                       struct bounded *y);

/* Rotates x [heads][head_dim], which stands at `pos` of a sequence of `length`, in place; nothing
 * without rope. */
void reference_rope(const struct kernel *kernel, struct bounded *x, size_t heads, size_t pos,
                    size_t length);

/* The norm of one row of q or k, x [heads][head_dim], in place, by the weights and biases as the
 * model has them (the latter NULL without); nothing without a norm. */
void reference_norm(const struct kernel *kernel, const float *w, const float *bias,
                    struct bounded *x, size_t heads);

/* Of a block: the norm of a row [d_model] in place; a = x + scale a, of rows [d_model], the
 * multiplier where there is no layer scale (NULL); the feed-forward of x [rows][d_model], y
 * likewise. */
void reference_block_norm(const struct kernel *kernel, const float *w, const float *bias,
                          struct bounded *x);
void reference_residual(const struct kernel *kernel, const struct bounded *x, const float *scale,
                        struct bounded *a);
void reference_feed_forward(const struct kernel *kernel, const struct block_weights *w,
                            const struct bounded *x, size_t rows, struct bounded *y);

/* The activation `act` of one number. */
struct bounded reference_activation(const struct kernel *kernel, const char *act, struct bounded x);

/* RMSNorm of `count` numbers in place. */
void reference_rmsnorm(const struct kernel *kernel, const float *w, double eps, struct bounded *x,
                       size_t count);

/* What `count` floats are worth against the reference. */
struct verdict {
    bool good;
    double ratio; /* the largest |got - want| / bound */
    size_t at;    /* its place: the first bad one if not good */
};

/* A NaN on either side is bad: none is expected where this is used. */
struct verdict reference_check(const float *got, const struct bounded *want, size_t count);

#endif
