/* How the bounds come about. u = 2^-24 is the unit roundoff of float.
 *
 * A kernel sums each output in one chain of fma in index order (that is the numerics promise): step
 * i computes s_i = (s_(i-1) + a_i b_i)(1 + d), |d| <= u, and so adds an error of at most u |s_i|,
 * and without a fused multiply-add u |a_i b_i| too (the running error bound: Higham, Accuracy and
 * Stability of Numerical Algorithms, section 3.3). The operands' own errors pass through times |a|
 * and |b|. Such errors e are kept as the sum of their squares, and the bound is 8 sqrt(sum of e^2).
 * For up to 64 errors that is more than the sum of all |e|, the worst that can happen. Beyond, it
 * is what errors of independent signs stay below but for a chance of 2 exp(-8^2 / 2) = 3e-14
 * (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019), and the sum of
 * all |e| would be so far above what happens in a layer of thousands of channels that it would let
 * faults pass. The bound scales with the length of the sums and with their condition: partial sums
 * that grow and cancel add what they are worth.
 *
 * Scores are kept in units of log2: q' = q * c, c = float(scale log2 e): 2 roundings of q, and
 * since that of c is the same for all channels, u |s| once more. Softmax: p_j = exp2(s_j - m). A
 * common error of all s_j, that of m too, cancels. To the error of s_j add: the subtraction,
 * u |s_j - m|; all of it times ln2 is relative in p_j; exp2 itself, at most 2 ulp or 4 u, and below
 * 2^-126 it is 0, TINY_P (below 2^-96 where there are biases by distance); each later block of 512
 * keys scales by another exp2 and rounds, 5 u. The sum of p: chains of 32 in 16 lanes, 4 to fold
 * them, one fma per block, so 36 + blocks roundings of at most the sum. P V is a chain again, with
 * a rounding more per block. out = (P V) (1 / sum): 2 roundings. Norms of q and k: an error of the
 * sum of squares S reaches the factor f = 1 / sqrt(S) times f / 2S. Below the normal range a step
 * may also lose half a subnormal, TINY.
 */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double U = 0x1p-24, TINY = 0x1p-149, TINY_P = 0x1p-126, TINY_P_BIASED = 0x1p-96;
static const double LOG2_E = 1.44269504088896340736, LN_2 = 0.69314718055994530942;
enum { BLOCK = 512 };

static void *make(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory)
        abort();
    return memory;
}

void reference_load(const float *from, size_t count, struct bounded *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = (struct bounded){(double)from[i], 0};
}

static double square(double x) { return x * x; }

/* Of each product that is added, what its own rounding counts: nothing with a fused multiply-add.
 */
static double product_error(const struct kernel *kernel) { return is_fused(kernel) ? 0 : U; }

/* sum = sum + a b */
static inline void chain(double product_error, struct bounded *sum, struct bounded a,
                         struct bounded b) {
    const double product = a.value * b.value;
    sum->value += product;
    sum->squares += square(a.value) * b.squares + square(b.value) * a.squares +
                    square(U * sum->value) + square(product_error * product) + square(TINY);
}

static struct bounded rounded(double value, double squares, double roundings) {
    return (struct bounded){value, squares + roundings * square(U * value) + square(TINY)};
}

double reference_slope(const struct kernel *kernel, size_t head) {
    size_t power = 1;
    while (2 * power <= kernel->heads)
        power *= 2;
    const double exponent = head < power ? (double)(head + 1) / (double)power
                                         : (double)(2 * (head - power) + 1) / (double)(2 * power);
    return kernel->alibi_scale * exp2(-kernel->alibi_bias_max * exponent);
}

void reference_clip(const struct kernel *kernel, struct bounded *x, size_t count) {
    const double limit = (double)(float)kernel->clip_qkv;
    for (size_t i = 0; i < count && limit > 0; i++)
        if (fabs(x[i].value) > limit) /* what the limits swallow of an error is not counted on */
            x[i].value = copysign(limit, x[i].value);
}

size_t reference_bucket(const struct kernel *kernel, ptrdiff_t after) {
    const bool both = kernel->relative_bidirectional;
    const size_t side = both ? kernel->relative_buckets / 2 : kernel->relative_buckets;
    const size_t exact = side / 2, own = both && after > 0 ? side : 0;
    const size_t distance = after < 0 ? (size_t)-after : both ? (size_t)after : 0;
    if (distance < exact)
        return own + distance;
    /* whole where the distance is: the logarithms of powers of two are apart by roundings */
    const double share = log((double)distance / (double)exact) /
                         log((double)kernel->relative_max_distance / (double)exact);
    const size_t bucket = exact + (size_t)(share * (double)(side - exact) + 1e-9);
    return own + (bucket < side ? bucket : side - 1);
}

/* c * log2 e * tanh(s / c) of z = 2 * log2 e * s / c: constants round, then some six steps that
 * keep the relative error. Errors of z pass as far as the curve is steep. */
static struct bounded capped(const struct kernel *kernel, struct bounded z) {
    const double c = kernel->softcap * LOG2_E, t = tanh(z.value * LN_2 / 2);
    const double slope = c * (1 - t * t) * LN_2 / 2;
    return rounded(c * t, square(slope) * (z.squares + square(U * z.value)), 24);
}

bool view_sees(const struct view *view, size_t head, size_t j) {
    if (j < view->first || j >= view->end || (view->mask && !view->mask[j]))
        return false;
    return !view->bias || view->bias[head * view->bias_head_stride + j] != -INFINITY;
}

bool view_sees_any(const struct view *view, size_t head) {
    for (size_t j = view->first; j < view->end; j++)
        if (view_sees(view, head, j))
            return true;
    return false;
}

/* The weights of one row before the division, the largest 1, from its scores p[first .. end - 1];
 * the greatest of these. A hidden key's is -infinity; its weight is 0. */
static double soften(const struct kernel *kernel, struct bounded *p, size_t first, size_t end) {
    const double least = is_biased(kernel) ? TINY_P_BIASED : TINY_P;
    double most = -DBL_MAX;
    for (size_t j = first; j < end; j++)
        most = fmax(most, p[j].value);
    for (size_t j = first; j < end; j++) {
        if (p[j].value < -DBL_MAX) {
            p[j] = (struct bounded){0, 0};
            continue;
        }
        const double below = most - p[j].value;
        const size_t later_blocks = (end - 1) / BLOCK - j / BLOCK;
        const double exponent = p[j].squares + square(U * p[j].value) + square(U * below);
        const double scaling = square(4 * U) + square(5 * U) * (double)later_blocks;
        p[j].value = exp2(-below);
        p[j].squares = square(p[j].value) * (square(LN_2) * exponent + scaling) + square(least);
    }
    return most;
}

/* ln of the sum of the weights, of scores whose greatest is `most`: the errors that all scores
 * share are in the weights' already. The logarithm is good to 4 u, and `most` times ln 2 rounds
 * once, like the sum. */
static struct bounded log_sum(double most, struct bounded total) {
    if (total.value <= 0)
        return (struct bounded){-INFINITY, 0};
    const double logarithm = log(total.value), shift = most * LN_2;
    return rounded(
        shift + logarithm,
        total.squares / square(total.value) + square(4 * U * logarithm) + square(U * shift), 1);
}

void reference_attention(const struct kernel *kernel, const struct bounded *q,
                         const struct bounded *k, const struct bounded *v, size_t rows,
                         const struct extras *extras, const struct view *views, struct bounded *out,
                         struct bounded *lse) {
    const size_t heads = kernel->heads, kv_heads = kernel->kv_heads;
    const size_t dim = kernel->head_dim, v_dim = kernel->v_head_dim;
    const double unit = kernel->softcap > 0 ? LOG2_E * 2 / kernel->softcap : LOG2_E;
    const double factor = kernel->scale * unit, product = product_error(kernel);
    size_t longest = 0;
    for (size_t i = 0; i < rows; i++)
        longest = views[i].end > longest ? views[i].end : longest;
    struct bounded *p = make(longest + 1, sizeof *p), *scaled = make(dim, sizeof *scaled);
    struct bounded *sums = make(v_dim, sizeof *sums);

    for (size_t row = 0; row < rows * heads; row++, q += dim, out += v_dim) {
        const struct view *view = &views[row / heads];
        const size_t first = view->first, end = view->end, head = row % heads;
        const size_t kv_head = head * kv_heads / heads;
        for (size_t d = 0; d < dim; d++)
            scaled[d] = rounded(q[d].value * factor, q[d].squares * square(factor), 2);
        for (size_t j = first; j < end; j++) {
            const struct bounded *key = k + (j * kv_heads + kv_head) * dim;
            p[j] = (struct bounded){0, 0};
            if (!view_sees(view, head, j)) {
                p[j].value = -INFINITY;
                continue;
            }
            for (size_t d = 0; d < dim; d++)
                chain(product, &p[j], scaled[d], key[d]);
            if (kernel->softcap > 0)
                p[j] = capped(kernel, p[j]);
            if (kernel->alibi) {
                const double slope = reference_slope(kernel, head) * LOG2_E;
                const double distance = (double)((ptrdiff_t)j - view->position);
                chain(product, &p[j], (struct bounded){slope, square(U * slope)},
                      (struct bounded){distance, 0});
            }
            if (kernel->relative_buckets) {
                const size_t bucket = reference_bucket(kernel, (ptrdiff_t)j - view->position);
                const double bias = (double)extras->relative_bias[bucket * heads + head];
                chain(product, &p[j], (struct bounded){bias, 0},
                      (struct bounded){LOG2_E, square(U * LOG2_E)});
            }
            if (view->bias) {
                const double bias = (double)view->bias[head * view->bias_head_stride + j];
                chain(product, &p[j], (struct bounded){bias, 0},
                      (struct bounded){LOG2_E, square(U * LOG2_E)});
            }
        }
        struct bounded *sink = &p[end]; /* a score of its own, without a value */
        if (kernel->sinks)
            *sink = rounded((double)extras->sinks[head] * LOG2_E, 0, 2);
        const double most = soften(kernel, p, first, kernel->sinks ? end + 1 : end);

        struct bounded total = {0, 0};
        if (kernel->sinks) { /* every block scales it */
            const double scaling = square(5 * U * sink->value);
            const size_t blocks = end / BLOCK + 1;
            total = rounded(sink->value, sink->squares + scaling * (double)blocks, 0);
        }
        memset(sums, 0, v_dim * sizeof *sums);
        for (size_t j = first; j < end; j++) {
            const struct bounded *value = v + (j * kv_heads + kv_head) * v_dim;
            const bool seen = view_sees(view, head, j);
            total.value += p[j].value;
            total.squares += p[j].squares;
            for (size_t d = 0; d < v_dim; d++) {
                if (j > first && j % BLOCK == 0)
                    sums[d] = rounded(sums[d].value, sums[d].squares, 1);
                if (seen)
                    chain(product, &sums[d], p[j], value[d]);
            }
        }
        const size_t blocks = end / BLOCK - first / BLOCK + 1;
        total = rounded(total.value, total.squares, 36 + (double)blocks);
        if (lse)
            *lse++ = log_sum(most, total);
        for (size_t d = 0; d < v_dim; d++) {
            out[d] = (struct bounded){0, 0}; /* a row that sees no key */
            if (!view_sees_any(view, head))
                continue;
            const double value = sums[d].value / total.value;
            const double squares = sums[d].squares + square(value) * total.squares;
            out[d] = rounded(value, squares / square(total.value), 2);
        }
    }
    free(p);
    free(scaled);
    free(sums);
}

void reference_project(const struct kernel *kernel, const float *w, const float *bias, bool in_out,
                       const struct bounded *x, size_t rows, size_t inputs, size_t outputs,
                       struct bounded *y) {
    enum { TOGETHER = 4 }; /* sums at a time: one alone waits for itself at each step */
    const double product = product_error(kernel);
    const size_t input_step = in_out ? outputs : 1, output_step = in_out ? 1 : inputs;
    for (size_t o = 0; o < outputs; o += TOGETHER)
        for (size_t r = 0; r < rows; r++) {
            struct bounded sums[TOGETHER];
            const float *column[TOGETHER];
            for (size_t t = 0; t < TOGETHER; t++) {
                const size_t own = o + t < outputs ? o + t : o; /* past the end: one again */
                sums[t] = (struct bounded){bias ? (double)bias[own] : 0, 0};
                column[t] = w + own * output_step;
            }
            for (size_t i = 0; i < inputs; i++)
                for (size_t t = 0; t < TOGETHER; t++) {
                    const double weight = (double)column[t][i * input_step];
                    chain(product, &sums[t], x[r * inputs + i], (struct bounded){weight, 0});
                }
            for (size_t t = 0; t < TOGETHER && o + t < outputs; t++)
                y[r * outputs + o + t] = sums[t];
        }
}

/* The frequency of pair i, by the scaling's definition (transformers' modeling_rope_utils). */
static double frequency(const struct kernel *kernel, size_t pair, size_t length) {
    const struct scaling *by = kernel->scaling;
    const double i = (double)pair, dim = (double)kernel->rotary_dim, theta = kernel->rope_theta;
    const double plain = 1 / pow(theta, 2 * i / dim), pi = acos(-1);
    const double original = by ? (double)by->original : 0;
    if (!by)
        return plain;
    if (strcmp(by->type, "linear") == 0)
        return plain / by->factor;
    if (strcmp(by->type, "proportional") == 0)
        return 1 / pow(theta, 2 * i / (double)kernel->head_dim) / by->factor;
    if (strcmp(by->type, "dynamic") == 0) {
        const double longest = fmax((double)kernel->capacity, original);
        const double base =
            theta * pow(by->factor * longest / original - (by->factor - 1), dim / (dim - 2));
        return 1 / pow(base, 2 * i / dim);
    }
    if (strcmp(by->type, "llama3") == 0) {
        const double wave = 2 * pi / plain, low = by->low_freq_factor, high = by->high_freq_factor;
        const double smooth = (original / wave - low) / (high - low);
        return wave < original / high  ? plain
               : wave > original / low ? plain / by->factor
                                       : (1 - smooth) * plain / by->factor + smooth * plain;
    }
    if (strcmp(by->type, "yarn") == 0) {
        const double log_theta = 2 * log(theta);
        double low = dim * log(original / (by->beta_fast * 2 * pi)) / log_theta;
        double high = dim * log(original / (by->beta_slow * 2 * pi)) / log_theta;
        low = fmax(by->truncate ? floor(low) : low, 0);
        high = fmin(by->truncate ? ceil(high) : high, dim - 1);
        const double ramp = (i - low) / (high - low + (low == high ? 0.001 : 0));
        const double share = fmin(fmax(ramp, 0), 1);
        return plain / by->factor * share + plain * (1 - share);
    }
    if (strcmp(by->type, "longrope") == 0)
        return plain / (length > by->original ? by->long_factors : by->short_factors)[pair];
    abort();
}

void reference_rope(const struct kernel *kernel, struct bounded *x, size_t heads, size_t pos,
                    size_t length) {
    const size_t half = kernel->rotary_dim / 2;
    const bool whole = kernel->scaling && strcmp(kernel->scaling->type, "proportional") == 0;
    const double factor = kernel->scaling ? kernel->scaling->attention_factor : 1;
    const double product = product_error(kernel);
    for (size_t pair = 0; pair < heads * half; pair++) {
        const size_t i = pair % half;
        struct bounded *head = x + pair / half * kernel->head_dim;
        struct bounded *a = head + (kernel->rope_interleaved ? 2 * i : i);
        struct bounded *b = kernel->rope_interleaved ? a + 1
                            : whole                  ? a + kernel->head_dim / 2
                                                     : a + half;
        const double place = (double)(pos + kernel->rope_offset);
        const double angle =
            place * frequency(kernel, i, kernel->exact ? kernel->capacity : length);
        /* sine and cosine: a rounding to float, and an angle good to a few ulp of double */
        const double off = square(factor * (U + 8 * DBL_EPSILON * angle));
        const struct bounded c = {cos(angle) * factor, off}, s = {sin(angle) * factor, off};
        const struct bounded minus_s = {-s.value, off};
        struct bounded first = {0, 0}, second = {0, 0};
        chain(product, &first, *b, minus_s);
        chain(product, &first, *a, c);
        chain(product, &second, *a, s);
        chain(product, &second, *b, c);
        *a = first;
        *b = second;
    }
}

/* Sum of x, or of its squares. The order of the kernels (16 partial sums) has smaller partial sums.
 */
static struct bounded norm_sum(const struct bounded *x, size_t count, bool squares) {
    struct bounded sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const double term = squares ? square(x[i].value) : x[i].value;
        const double slope = squares ? 2 * x[i].value : 1;
        sum.value += term;
        sum.squares += square(slope) * x[i].squares + square(U * sum.value) + square(U * term);
    }
    return sum;
}

static void norm_vector(const struct norm *norm, const float *w, const float *bias, double product,
                        struct bounded *x, size_t count) {
    const double n = (double)count;
    /* The kernel takes off the mean twice: the error of the first one, whatever its size, is part
     * of the second. */
    for (int pass = 0; norm->layernorm && pass < 2; pass++) {
        const struct bounded sum = norm_sum(x, count, false);
        const struct bounded mean = rounded(sum.value / n, sum.squares / square(n), 1);
        const double known = pass ? mean.squares : 0;
        for (size_t i = 0; i < count; i++)
            x[i] = rounded(x[i].value - mean.value, x[i].squares + known, 1);
    }
    const struct bounded sum = norm_sum(x, count, true);
    /* rounded: the division, eps, the sum of both */
    const double size = sum.value / n + norm->eps;
    const double size_squares = sum.squares / square(n) + 3 * square(U * size);
    /* the root, its reciprocal */
    const double factor = 1 / sqrt(size);
    const double factor_squares =
        square(0.5 * factor / size) * size_squares + 2 * square(U * factor);
    for (size_t i = 0; i < count; i++) {
        const double weight = (double)w[i] + (norm->unit_offset ? 1 : 0);
        const double weight_squares = norm->unit_offset ? square(U * weight) : 0;
        const double value = x[i].value * factor;
        const double squares = square(factor) * x[i].squares + square(x[i].value) * factor_squares;
        const struct bounded scaled = rounded(value, squares, 1);
        struct bounded sum_of_two = {bias ? (double)bias[i] : 0, 0};
        chain(bias ? product : 0, &sum_of_two, scaled, (struct bounded){weight, weight_squares});
        x[i] = sum_of_two;
    }
}

void reference_norm(const struct kernel *kernel, const float *w, const float *bias,
                    struct bounded *x, size_t heads) {
    const struct qk_norm *norm = kernel->qk_norm;
    const size_t dim = kernel->head_dim, width = norm && norm->full ? heads * dim : dim;
    for (size_t first = 0; norm && first < heads * dim; first += width) {
        const size_t own = norm->per_head ? first : 0;
        const struct norm each = {norm->layernorm, norm->unit_offset, norm->eps};
        norm_vector(&each, w + own, bias ? bias + own : NULL, product_error(kernel), x + first,
                    width);
    }
}

void reference_block_norm(const struct kernel *kernel, const float *w, const float *bias,
                          struct bounded *x) {
    norm_vector(&kernel->block->norm, w, bias, product_error(kernel), x, kernel->d_model);
}

void reference_residual(const struct kernel *kernel, const struct bounded *x, const float *scale,
                        struct bounded *a) {
    const double factor = kernel->block->residual_multiplier;
    for (size_t i = 0; i < kernel->d_model; i++) {
        const struct bounded multiplier = {scale ? (double)scale[i] : factor,
                                           scale ? 0 : square(U * factor)};
        struct bounded sum = x[i];
        if (scale || factor != 1)
            chain(product_error(kernel), &sum, multiplier, a[i]);
        else
            sum = rounded(sum.value + a[i].value, sum.squares + a[i].squares, 1);
        a[i] = sum;
    }
}

struct bounded reference_activation(const struct kernel *kernel, const char *act,
                                    struct bounded x) {
    /* The largest relative error of each in U, measured over the floats, and what the rounding of
     * the exponent makes of it: so much of the exponent, whose size grows where x falls. */
    const double apart = product_error(kernel) / U, v = x.value;
    double y, slope, own, share, exponent;
    if (strcmp(act, "relu") == 0 || strcmp(act, "relu2") == 0) {
        const bool squared = act[4] != 0;
        const double positive = fmax(v, 0);
        y = squared ? square(positive) : positive;
        slope = v < 0 ? 0 : squared ? 2 * v : 1;
        return rounded(y, square(slope) * x.squares, squared);
    }
    if (strcmp(act, "gelu") == 0) {
        const double tail = erfc(-v / sqrt(2)) / 2;
        y = v * tail;
        slope = tail + v * exp(-v * v / 2) / sqrt(8 * atan(1));
        own = 5.3;
        share = apart;
        exponent = v < 0 ? v * v / 2 : 1;
    } else {
        const bool tanh = strcmp(act, "gelu_tanh") == 0, quick = strcmp(act, "quick_gelu") == 0;
        const double c = sqrt(2 / atan(1)); /* 2 sqrt(2 / pi) */
        exponent = tanh ? c * (v + 0.044715 * v * v * v) : quick ? 1.702 * v : v;
        const double steep = tanh ? c * (1 + 3 * 0.044715 * v * v) : quick ? 1.702 : 1;
        const double gate = 1 / (1 + exp(-exponent));
        y = v * gate;
        slope = gate + v * steep * gate * (1 - gate);
        own = 2.5;
        share = tanh ? 1.8 + apart : quick ? apart : 0;
        exponent *= 1 - gate;
    }
    const double relative = own + share * fabs(exponent);
    /* below the least argument that is computed, y counts as 0 */
    return (struct bounded){y, square(slope) * x.squares + square(U * relative * y) +
                                   square(0x1p-119)};
}

void reference_feed_forward(const struct kernel *kernel, const struct block_weights *w,
                            const struct bounded *x, size_t rows, struct bounded *y) {
    const struct block *block = kernel->block;
    const size_t width = kernel->d_model, size = rows * block->ffn;
    const bool in_out = kernel->weights_in_out;
    struct bounded *inner = make(size, sizeof *inner), *gate = make(size, sizeof *gate);
    reference_project(kernel, w->w_up, w->b_up, in_out, x, rows, width, block->ffn, inner);
    if (block->gated)
        reference_project(kernel, w->w_gate, w->b_gate, in_out, x, rows, width, block->ffn, gate);
    for (size_t i = 0; i < size; i++) {
        if (!block->gated) {
            inner[i] = reference_activation(kernel, block->act, inner[i]);
            continue;
        }
        struct bounded product = {0, 0};
        chain(0, &product, reference_activation(kernel, block->act, gate[i]), inner[i]);
        inner[i] = product;
    }
    reference_project(kernel, w->w_down, w->b_down, in_out, inner, rows, block->ffn, width, y);
    free(inner);
    free(gate);
}

void reference_rmsnorm(const struct kernel *kernel, const float *w, double eps, struct bounded *x,
                       size_t count) {
    const struct norm norm = {.eps = eps};
    norm_vector(&norm, w, NULL, product_error(kernel), x, count);
}

double reference_bound(struct bounded number) { return 8 * sqrt(number.squares); }

struct verdict reference_check(const float *got, const struct bounded *want, size_t count) {
    struct verdict verdict = {true, 0, 0};
    for (size_t i = 0; i < count && verdict.good; i++) {
        /* minus infinity is the sum of a row that sees no key */
        const bool nothing = got[i] == -INFINITY && want[i].value == -INFINITY;
        const double off = nothing ? 0 : fabs((double)got[i] - want[i].value);
        const double bound = reference_bound(want[i]), ratio = off == 0 ? 0 : off / bound;
        if (!(off <= bound && isfinite(bound))) /* a NaN anywhere is bad */
            verdict = (struct verdict){false, ratio, i};
        else if (ratio > verdict.ratio)
            verdict = (struct verdict){true, ratio, i};
    }
    return verdict;
}
