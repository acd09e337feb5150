/* To be compiled with -ffp-contract=off: every fma is written out, and no other is wanted. */
#include "definition.h"

#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The same arithmetic with and without hardware for fmaf, only faster with. */
#if defined(__x86_64__) && defined(__GNUC__)
#define FAST_FMA __attribute__((target_clones("default", "fma")))
#else
#define FAST_FMA
#endif

enum { BLOCK = 512, LANES = 16 };
static const double LOG2_E = 1.44269504088896340736, LN_2 = 0.69314718055994530942;

static inline float multiply_add(bool fused, float a, float b, float c) {
    return fused ? fmaf(a, b, c) : a * b + c;
}

static float exp2_defined(bool fused, bool biased, float x) {
    if (x < (biased ? -96.0F : -126.0F))
        return 0.0F;
    const float n = rintf(x), f = x - n; /* ties to even */
    float y = 0x1.5ab260p-10F;
    y = multiply_add(fused, y, f, 0x1.3ced02p-7F);
    y = multiply_add(fused, y, f, 0x1.c6ba92p-5F);
    y = multiply_add(fused, y, f, 0x1.ebf9b0p-3F);
    y = multiply_add(fused, y, f, 0x1.62e424p-1F);
    y = multiply_add(fused, y, f, 1.0F);
    return isnan(x) ? x : ldexpf(y, (int)n);
}

/* c * log2 e * tanh(s / c) of z = 2 * log2 e * s / c */
static float cap_defined(bool fused, double cap, float z) {
    if (isnan(z))
        return z;
    z = z < -30 ? -30 : z > 30 ? 30 : z;
    const float n = rintf(z), f = z - n, twice = ldexpf(2, (int)n), square = f * f;
    float series = 0x1.573eb4p-11F;
    series = multiply_add(fused, series, square, -0x1.c6a728p-7F);
    series = multiply_add(fused, series, square, 0x1.62e42ep-2F);
    const float t = f * series, a = twice - 2, b = twice + 2;
    const float tanh = multiply_add(fused, t, b, a) / multiply_add(fused, t, a, b);
    return tanh * (float)(cap * LOG2_E);
}

/* ln x for x >= 0 */
static float ln_defined(bool fused, float x) {
    if (!(x > 0 && x <= FLT_MAX))
        return x == 0 ? -INFINITY : x;
    int n;
    float f = frexpf(x, &n);
    if (f < 0x1.6a09e6p-1F) { /* sqrt(1/2) */
        f *= 2;
        n--;
    }
    const float t = (f - 1) / (f + 1), square = t * t;
    float series = 2 / 9.0F;
    series = multiply_add(fused, series, square, 2 / 7.0F);
    series = multiply_add(fused, series, square, 2 / 5.0F);
    series = multiply_add(fused, series, square, 2 / 3.0F);
    series = multiply_add(fused, series, t * square, t + t);
    return multiply_add(fused, (float)n, (float)LN_2, series);
}

static FAST_FMA float dot(bool fused, const float *a, const float *b, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = multiply_add(fused, a[i], b[i], sum);
    return sum;
}

static FAST_FMA void add_scaled(bool fused, float *sums, float p, const float *v, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = multiply_add(fused, p, v[i], sums[i]);
}

static float folded(float sums[LANES]) {
    for (size_t width = LANES / 2; width; width /= 2)
        for (size_t i = 0; i < width; i++)
            sums[i] = sums[i] + sums[i + width];
    return sums[0];
}

/* One row of one head: q [head_dim], sees the keys of `view`; k and v at the row's KV head, a
 * position every k_step and v_step floats. */
static void attend_row(const struct kernel *kernel, const struct extras *extras, size_t head,
                       const float *q, const float *k, size_t k_step, const float *v, size_t v_step,
                       const struct view *view, float *out, float *lse) {
    const size_t dim = kernel->head_dim, v_dim = kernel->v_head_dim;
    const bool fused = is_fused(kernel), biased = is_biased(kernel);
    const double unit = kernel->softcap > 0 ? 2 / kernel->softcap : 1;
    const float factor = (float)(kernel->scale * LOG2_E * unit);
    float scaled[1024], s[BLOCK], m = -FLT_MAX, l[LANES] = {0};
    for (size_t d = 0; d < dim; d++)
        scaled[d] = q[d] * factor;
    memset(out, 0, v_dim * sizeof *out);
    if (kernel->sinks) {
        const float sink = extras->sinks[head] * (float)LOG2_E;
        m = sink > m ? sink : m;
        l[0] = exp2_defined(fused, biased, sink - m);
    }
    const float slope = (float)(reference_slope(kernel, head) * LOG2_E);

    for (size_t block = view->first / BLOCK * BLOCK; block < view->end; block += BLOCK) {
        const size_t first = block < view->first ? view->first - block : 0;
        const size_t end = view->end - block < BLOCK ? view->end - block : BLOCK;
        float most = m, sums[LANES] = {0};
        for (size_t j = first; j < end; j++) {
            s[j] = -INFINITY;
            if (!view_sees(view, head, block + j))
                continue;
            s[j] = dot(fused, scaled, k + (block + j) * k_step, dim);
            if (kernel->softcap > 0)
                s[j] = cap_defined(fused, kernel->softcap, s[j]);
            if (kernel->alibi)
                s[j] = multiply_add(fused, slope, (float)((ptrdiff_t)(block + j) - view->position),
                                    s[j]);
            if (kernel->relative_buckets) {
                const size_t bucket =
                    reference_bucket(kernel, (ptrdiff_t)(block + j) - view->position);
                s[j] = multiply_add(fused, extras->relative_bias[bucket * kernel->heads + head],
                                    (float)LOG2_E, s[j]);
            }
            if (view->bias) {
                const float bias = view->bias[head * view->bias_head_stride + block + j];
                s[j] = multiply_add(fused, bias, (float)LOG2_E, s[j]);
                if (bias < -0x1p126F && s[j] < -FLT_MAX)
                    s[j] = -FLT_MAX;
            }
            if (s[j] > most)
                most = s[j];
        }
        const float a = exp2_defined(fused, biased, m - most);
        m = most;
        for (size_t d = 0; d < v_dim; d++)
            out[d] = out[d] * a;
        for (size_t j = first; j < end; j++) {
            if (!view_sees(view, head, block + j))
                continue;
            const float p = exp2_defined(fused, biased, s[j] - m);
            sums[j % LANES] = sums[j % LANES] + p;
            add_scaled(fused, out, p, v + (block + j) * v_step, v_dim);
        }
        for (size_t i = 0; i < LANES; i++)
            l[i] = multiply_add(fused, l[i], a, sums[i]);
    }
    const float sum = folded(l), r = 1.0F / sum;
    if (lse)
        *lse = multiply_add(fused, m, (float)LN_2, ln_defined(fused, sum));
    if (!view_sees_any(view, head))
        return; /* zeros */
    for (size_t d = 0; d < v_dim; d++)
        out[d] = multiply_add(fused, out[d], r, 0.0F);
}

void definition_attention(const struct kernel *kernel, const float *q, const float *k,
                          const float *v, size_t rows, const struct extras *extras,
                          const struct view *views, float *out) {
    const size_t heads = kernel->heads, kv_heads = kernel->kv_heads;
    const size_t dim = kernel->head_dim, v_dim = kernel->v_head_dim;
    for (size_t row = 0; row < rows * heads; row++) {
        const size_t kv_head = row % heads * kv_heads / heads;
        attend_row(kernel, extras, row % heads, q + row * dim, k + kv_head * dim, kv_heads * dim,
                   v + kv_head * v_dim, kv_heads * v_dim, &views[row / heads], out + row * v_dim,
                   extras->lse ? extras->lse + row : NULL);
    }
}

void definition_merge(const struct kernel *kernel, float *out, float *lse, const float *other,
                      const float *other_lse, size_t n) {
    const size_t dim = kernel->v_head_dim;
    const bool fused = is_fused(kernel);
    for (size_t row = 0; row < n * kernel->heads; row++, out += dim, other += dim) {
        const float a = lse[row], b = other_lse[row];
        if (b == -INFINITY)
            continue;
        if (a == -INFINITY) {
            memcpy(out, other, dim * sizeof *out);
            lse[row] = b;
            continue;
        }
        const bool swapped = b > a;
        const float most = swapped ? b : a, below = (swapped ? a : b) - most;
        const float e = exp2_defined(fused, is_biased(kernel), below * (float)LOG2_E),
                    sum = 1.0F + e;
        const float more = 1.0F / sum, less = e / sum;
        for (size_t d = 0; d < dim; d++) {
            const float greater = swapped ? other[d] : out[d];
            const float lesser = swapped ? out[d] : other[d];
            out[d] = multiply_add(fused, lesser, less, greater * more);
        }
        lse[row] = most + ln_defined(fused, sum);
    }
}

FAST_FMA void definition_project(const struct kernel *kernel, const float *w, const float *bias,
                                 bool in_out, const float *x, size_t rows, size_t inputs,
                                 size_t outputs, float *y) {
    const bool fused = is_fused(kernel);
    const size_t input_step = in_out ? outputs : 1, output_step = in_out ? 1 : inputs;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < outputs; o++) {
            float sum = bias ? bias[o] : 0;
            for (size_t i = 0; i < inputs; i++)
                sum = multiply_add(fused, x[r * inputs + i], w[o * output_step + i * input_step],
                                   sum);
            y[r * outputs + o] = sum;
        }
}

static void norm_vector(bool fused, const struct norm *norm, const float *w, const float *bias,
                        float *x, size_t count) {
    for (int pass = 0; norm->layernorm && pass < 2; pass++) {
        float sums[LANES] = {0};
        for (size_t i = 0; i < count; i++)
            sums[i % LANES] = sums[i % LANES] + x[i];
        const float mean = folded(sums) / (float)count;
        for (size_t i = 0; i < count; i++)
            x[i] = x[i] - mean;
    }
    float sums[LANES] = {0};
    for (size_t i = 0; i < count; i++)
        sums[i % LANES] = multiply_add(fused, x[i], x[i], sums[i % LANES]);
    const float size = folded(sums) / (float)count + (float)norm->eps;
    const float factor = 1.0F / sqrtf(size);
    for (size_t i = 0; i < count; i++) {
        const float weight = norm->unit_offset ? w[i] + 1.0F : w[i];
        const float scaled = x[i] * factor;
        x[i] = bias ? multiply_add(fused, scaled, weight, bias[i]) : scaled * weight;
    }
}

void definition_norm(const struct kernel *kernel, const float *w, const float *bias, float *x,
                     size_t heads) {
    const struct qk_norm *norm = kernel->qk_norm;
    const size_t dim = kernel->head_dim, width = norm && norm->full ? heads * dim : dim;
    for (size_t first = 0; norm && first < heads * dim; first += width) {
        const size_t own = norm->per_head ? first : 0;
        const struct norm each = {norm->layernorm, norm->unit_offset, norm->eps};
        norm_vector(is_fused(kernel), &each, w + own, bias ? bias + own : NULL, x + first, width);
    }
}

/* ---- blocks ---- */

void definition_block_norm(const struct kernel *kernel, const float *w, const float *bias,
                           float *x) {
    norm_vector(is_fused(kernel), &kernel->block->norm, w, bias, x, kernel->d_model);
}

void definition_residual(const struct kernel *kernel, const float *x, const float *scale,
                         float *a) {
    for (size_t i = 0; i < kernel->d_model; i++) {
        const float factor = scale ? scale[i] : (float)kernel->block->residual_multiplier;
        a[i] =
            scale || factor != 1 ? multiply_add(is_fused(kernel), a[i], factor, x[i]) : x[i] + a[i];
    }
}

/* e^(x + more) */
static float exp_defined(bool fused, float x, float more) {
    const float log2_e = (float)LOG2_E;
    const float shifted = multiply_add(fused, x, log2_e, 0x1.8p23F);
    const float n = shifted - 0x1.8p23F;
    float r = multiply_add(fused, n, -0x1.62e4p-1F, x);
    r = multiply_add(fused, n, -0x1.7f7d1cp-20F, r) + more;
    float y = 0x1.6a22dep-10F;
    y = multiply_add(fused, y, r, 0x1.123afcp-7F);
    y = multiply_add(fused, y, r, 0x1.5558f8p-5F);
    y = multiply_add(fused, y, r, 0x1.555490p-3F);
    y = multiply_add(fused, y, r, 0x1.fffffcp-2F);
    y = multiply_add(fused, y, r, 1);
    y = multiply_add(fused, y, r, 1);
    return ldexpf(y, (int)n);
}

static float horner(bool fused, const float *coefficients, size_t count, float x) {
    float sum = coefficients[count - 1];
    for (size_t i = count - 1; i-- > 0;)
        sum = multiply_add(fused, sum, x, coefficients[i]);
    return sum;
}

static float gelu_defined(bool fused, float x) {
    static const float over[] = {0x1p-1F, 0x1.bd89c2p-2F, 0x1.726d08p-3F, 0x1.465afap-5F,
                                 0x1.060f0ap-8F};
    static const float under[] = {
        1, 0x1.ab0710p0F, 0x1.3152fep0F, 0x1.da59c4p-2F, 0x1.990e94p-4F, 0x1.486fe2p-7F};
    const float a = fminf(fabsf(x), 13), half = a * -0.5F, square = a * half;
    const float power = exp_defined(fused, square, multiply_add(fused, a, half, 0 - square));
    const float tail = horner(fused, over, 5, a) * -a / horner(fused, under, 6, a);
    return x < -13 ? 0 : multiply_add(fused, tail, power, x < 0 ? 0 : x);
}

float definition_activation(bool fused, const char *act, float x) {
    if (isnan(x))
        return x;
    if (strcmp(act, "relu") == 0)
        return x < 0 ? 0 : x;
    if (strcmp(act, "relu2") == 0)
        return x < 0 ? 0 : x * x;
    if (strcmp(act, "gelu") == 0)
        return gelu_defined(fused, x);
    const bool silu = strcmp(act, "silu") == 0, quick = strcmp(act, "quick_gelu") == 0;
    const float most = silu ? 87 : quick ? 51 : 10;
    const float z = x < -most ? -most : x > most ? most : x;
    const float factor = silu    ? -1
                         : quick ? -0x1.b3b646p0F
                                 : multiply_add(fused, z * z, -0x1.2444f2p-4F, -0x1.988454p0F);
    const float product = z * factor;
    float rest = multiply_add(fused, z, factor, 0 - product);
    if (quick)
        rest = multiply_add(fused, z, 0x1.78d4fep-26F, rest);
    return x < -most ? 0 : x / (exp_defined(fused, product, rest) + 1);
}

void definition_feed_forward(const struct kernel *kernel, const struct block_weights *w,
                             const float *x, size_t rows, float *y) {
    const struct block *block = kernel->block;
    const size_t width = kernel->d_model, size = rows * block->ffn;
    const bool in_out = kernel->weights_in_out, fused = is_fused(kernel);
    float *inner = calloc(size + 1, sizeof *inner), *gate = calloc(size + 1, sizeof *gate);
    if (!inner || !gate)
        abort();
    definition_project(kernel, w->w_up, w->b_up, in_out, x, rows, width, block->ffn, inner);
    if (block->gated)
        definition_project(kernel, w->w_gate, w->b_gate, in_out, x, rows, width, block->ffn, gate);
    for (size_t i = 0; i < size; i++)
        inner[i] = block->gated ? definition_activation(fused, block->act, gate[i]) * inner[i]
                                : definition_activation(fused, block->act, inner[i]);
    definition_project(kernel, w->w_down, w->b_down, in_out, inner, rows, block->ffn, width, y);
    free(inner);
    free(gate);
}
