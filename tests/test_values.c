/* Where NaN and infinity go, what rows without keys give, and properties that need no reference. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "problem.h"
#include "suite.h"

static const struct way by_5 = {.name = "cache by 5", .cache = true, .chunk = 5};

/* ---- one bad number in the input ---- */

/* Where it is: row, or position; head, or KV head; channel. */
struct spot {
    char tensor; /* 'q', 'k' or 'v' */
    size_t at, head, channel;
};

static float *element(const struct problem *problem, const struct spot *spot) {
    const struct kernel *kernel = problem->kernel;
    const size_t heads = spot->tensor == 'q' ? kernel->heads : kernel->kv_heads;
    const size_t width = spot->tensor == 'v' ? kernel->v_head_dim : kernel->head_dim;
    float *tensor = spot->tensor == 'q'   ? problem->q
                    : spot->tensor == 'k' ? problem->k
                                          : problem->v;
    return tensor + (spot->at * heads + spot->head) * width + spot->channel;
}

static bool sees(const struct problem *problem, const struct spot *spot, size_t row, size_t head,
                 size_t channel) {
    const struct kernel *kernel = problem->kernel;
    if (spot->tensor == 'q') {
        const struct view own = view_of(problem, row, problem->n);
        return row == spot->at && head == spot->head && view_sees_any(&own, head);
    }
    const struct view view = view_of(problem, row, problem->n);
    return head * kernel->kv_heads / kernel->heads == spot->head &&
           view_sees(&view, head, spot->at) && (spot->tensor == 'k' || channel == spot->channel);
}

/* Outputs that see a NaN are NaN; those that don't see the bad number keep their bits. */
static void expect_spread(const struct problem *problem, const struct way *way,
                          const struct spot *spot, float bad, const float *clean) {
    const struct kernel *kernel = problem->kernel;
    const size_t size = attention_size(problem, problem->rows);
    float *out = make(size, sizeof *out), *place = element(problem, spot);
    const float before = *place;
    *place = bad;
    attend(problem, way, out);
    *place = before;
    for (size_t i = 0; i < size; i++) {
        const size_t channel = i % kernel->v_head_dim,
                     head = i / kernel->v_head_dim % kernel->heads;
        const size_t row = i / kernel->v_head_dim / kernel->heads;
        const bool seen = sees(problem, spot, row, head, channel);
        cr_assert(seen ? !isnan(bad) || isnan(out[i]) : same_float(out[i], clean[i]),
                  "%s %s n %zu: %f in %c[%zu][%zu][%zu] makes out[%zu][%zu][%zu] %g, was %g",
                  label(kernel), way->name, problem->n, (double)bad, spot->tensor, spot->at,
                  spot->head, spot->channel, row, head, channel, (double)out[i], (double)clean[i]);
    }
    free(out);
}

EACH(target, values, bad_numbers, NULL) {
    const struct kernel *kernel = selected(target);
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const size_t sizes[] = {37, 600};
    struct budget budget = FULL;
    for (size_t s = 0; s < 2; s++) {
        const size_t n = longest(kernel) < sizes[s] ? longest(kernel) : sizes[s];
        const size_t rows = n < 9 ? n : 9, work = cost(kernel, attention_work(kernel, n, rows));
        const struct problem problem = attention_problem(kernel, n, rows, EVEN);
        float *clean = make(attention_size(&problem, rows), sizeof *clean);
        attend(&problem, &CACHED, clean);
        /* keys early, within and at the end of what the rows see; a row */
        const struct spot spots[] = {
            {'k', n - 1 - rows / 2, kernel->kv_heads - 1, kernel->head_dim / 2},
            {'v', n - 1 - rows / 2, 0, kernel->v_head_dim / 2},
            {'v', n - 1, 0, 0},
            {'q', rows / 2, kernel->heads - 1, kernel->head_dim - 1},
            {'k', 0, 0, 0},
            {'v', 0, kernel->kv_heads - 1, kernel->v_head_dim - 1}};
        for (size_t i = 0; i < sizeof spots / sizeof *spots; i++)
            for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
                if (s && (i + j) % 3)
                    continue; /* among many keys, each spot gets one of them */
                if (!spend(&budget, 3 * work) && s)
                    return;
                if (kernel->mla && spots[i].tensor == 'v')
                    continue; /* values are channels of the keys */
                expect_spread(&problem, &CACHED, &spots[i], bad[j], clean);
                expect_spread(&problem, &by_5, &spots[i], bad[j], clean);
                if (attention_fits(&problem, &DIRECT))
                    expect_spread(&problem, &DIRECT, &spots[i], bad[j], clean);
            }
    }
}

/* A NaN in x reaches its own row and all that see its position, and no other. */
static void spread_of_a_row(const struct kernel *kernel, bool whole) {
    const size_t n = longest(kernel) < 20 ? longest(kernel) : 20, width = kernel->d_model;
    const size_t rows = n < 3 ? n : 3, bad = rows / 2;
    const struct weights weights = random_weights(kernel, 6);
    struct problem problem = layer_problem(kernel, n, rows, &weights, NULL);
    if (whole) {
        const struct block_weights block = random_block_weights(kernel, 6);
        problem =
            block_problem(kernel, n, rows, &weights, &block, pack_block(kernel, &weights, &block));
    } else {
        problem.packed = pack(kernel, &weights);
    }
    float *clean = make(rows * width, sizeof *clean), *y = make(rows * width, sizeof *y);
    run_layer(&problem, &CACHED, clean);
    problem.x[bad * width + width / 2] = NAN;
    run_layer(&problem, &CACHED, y);
    for (size_t row = 0; row < rows; row++) {
        const struct view view = view_of(&problem, row, n);
        /* the residual brings it to its channel, what follows to all of them */
        const bool residual = whole && row == bad;
        bool seen = residual && (kernel->block->ffn || strcmp(kernel->block->place, "post") == 0);
        for (size_t head = 0; head < kernel->heads; head++)
            seen = seen || (!kernel->cross && view_sees(&view, head, n - rows + bad)) ||
                   (row == bad && view_sees_any(&view, head));
        for (size_t i = 0; i < width; i++) {
            const float got = y[row * width + i];
            cr_assert(
                seen || (residual && i == width / 2) ? isnan(got)
                                                     : same_float(got, clean[row * width + i]),
                "%s: NaN in row %zu makes y[%zu][%zu] %g", label(kernel), bad, row, i, (double)got);
        }
    }
}

EACH(target, values, bad_row_of_a_layer, has_layer) { spread_of_a_row(selected(target), false); }
EACH(target, values, bad_row_of_a_block, has_block) { spread_of_a_row(selected(target), true); }

static bool shows_activations(const struct kernel *kernel) {
    return kernel->block && kernel->block->ffn &&
           (strcmp(kernel->block->place, "pre") == 0 ||
            strcmp(kernel->block->place, "parallel") == 0);
}

/* What the block makes of an x of 0 but for its first channel, with a feed-forward that multiplies
 * that channel, after its norm, with factors[j], activates the product and adds it to channel j. */
static void activate(const struct kernel *kernel, const float *factors, size_t count,
                     float *products, float *y) {
    const struct block *block = kernel->block;
    const size_t width = kernel->d_model, n = kernel->exact ? kernel->capacity : 1;
    const struct weights weights = zero_weights(kernel);
    struct block_weights own = random_block_weights(kernel, 9);
    const float **const all = (const float **)&own;
    size_t shapes[BLOCK_ARRAYS][2];
    block_shapes(kernel, shapes);
    for (size_t i = 8; i < BLOCK_ARRAYS; i++)
        all[i] = make((shapes[i][0] ? shapes[i][0] : 1) * shapes[i][1], sizeof(float));
    for (size_t i = 0; i < shapes[14][1]; i++) /* layer scales */
        ((float *)own.attention_scale)[i] = ((float *)own.ffn_scale)[i] = 1;
    const bool two = block->ffn_norm;
    const float *norm = two ? own.ffn_norm : own.attention_norm;
    const float *bias = two ? own.ffn_norm_bias : own.attention_norm_bias;
    struct problem problem = {.kernel = kernel, .n = n, .rows = n, .whole = true};
    problem.x = make(n * width, sizeof(float));
    problem.x[0] = 1;
    problem.source = make(n * kernel->source_width, sizeof(float));
    float *in = make(width, sizeof *in), *out = make(n * width, sizeof *out);
    in[0] = 1;
    definition_block_norm(kernel, norm, bias, in);
    for (size_t j = 1; j < count; j++) {
        products[j] = in[0] * factors[j];
        *at(kernel, block->gated ? own.w_gate : own.w_up, 0, width, j, block->ffn) = factors[j];
        if (block->gated)
            *at(kernel, own.w_up, 0, width, j, block->ffn) = 1;
        *at(kernel, own.w_down, j, block->ffn, j, width) = 1;
    }
    problem.packed = pack_block(kernel, &weights, &own);
    run_layer(&problem, layer_fits(&problem, &DIRECT) ? &DIRECT : &CACHED, out);
    for (size_t j = 1; j < count; j++) {
        const float gated = block->gated ? in[0] : 1;
        const float want = definition_activation(is_fused(kernel), block->act, products[j]) * gated;
        cr_assert(!isfinite(products[j]) || isfinite(want));
        y[j] = want;
    }
    for (size_t j = 1; j < count; j++) { /* a number that is not finite spoils the others */
        bool alone = true;
        for (size_t k = 1; k < count; k++)
            alone = alone && (k == j || isfinite(y[k]));
        float got = out[j], want = (float)block->residual_multiplier * y[j];
        cr_assert(!alone || same_float(got + 0.0F, want + 0.0F), "%s: %s(%a) gives %a, not %a",
                  label(kernel), block->act, (double)products[j], (double)got, (double)want);
    }
}

/* Activations of numbers of all sizes: to the bit as defined, the definition near the formula, the
 * error of one number not eight times what the reference says. */
EACH(target, values, activations, shows_activations) {
    const struct kernel *kernel = selected(target);
    const struct block *block = kernel->block;
    const size_t most = kernel->d_model < block->ffn ? kernel->d_model : block->ffn;
    const float odd[] = {NAN, INFINITY, -INFINITY};
    float *factors = make(most, sizeof *factors), *products = make(most, sizeof *products);
    float *y = make(most, sizeof *y);
    /* an exact kernel computes all its rows for the one that counts */
    const size_t n = kernel->exact ? kernel->capacity : 1;
    const size_t work = cost(kernel, block_work(kernel, n, n));
    struct budget budget = FULL;
    if (most < 2)
        return;
    for (size_t i = 0; i < sizeof odd / sizeof *odd && spend(&budget, work); i++) {
        factors[1] = odd[i];
        activate(kernel, factors, 2, products, y);
    }
    static const float sizes[] = {1e-41F, 1e-20F, 1e-3F, 1, 4, 12, 30, 60, 100, 1e10F, 1e30F};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(block->act, "relu2") == 0 && sizes[i] > 1e15F)
            continue; /* their squares are infinite */
        if (!spend(&budget, work))
            break;
        const size_t mark = guard_mark();
        fill_mixed(factors, most, (uint32_t)i, sizes[i]);
        activate(kernel, factors, most, products, y);
        guard_release(mark);
    }
}

/* The definition of an activation is near its formula, over all floats in steps. */
Test(values, activations_by_formula) {
    static const char *const acts[] = {"gelu", "gelu_tanh", "relu", "silu", "quick_gelu", "relu2"};
    const struct kernel *kernel = kernels[0];
    for (size_t a = 0; a < sizeof acts / sizeof *acts; a++) {
        cr_assert(isnan(definition_activation(true, acts[a], NAN)));
        cr_assert_eq(definition_activation(true, acts[a], INFINITY), INFINITY);
        cr_assert_eq(definition_activation(true, acts[a], -INFINITY), 0);
        for (uint64_t bits = 0; bits < 1ULL << 32; bits += 65521) {
            const uint32_t word = (uint32_t)bits;
            float x;
            memcpy(&x, &word, sizeof x);
            const struct bounded right =
                reference_activation(kernel, acts[a], (struct bounded){(double)x, 0});
            const float y = definition_activation(is_fused(kernel), acts[a], x);
            if (!isfinite(x) || !isfinite(right.value) || fabs(right.value) > (double)FLT_MAX)
                continue;
            cr_assert_leq(fabs((double)y - right.value), sqrt(right.squares) + 0x1p-149,
                          "%s(%.9g) is %.9g, not %.9g", acts[a], (double)x, (double)y, right.value);
        }
    }
}

/* Keys beyond the last position that a query sees, though the cache holds them. */
EACH(target, values, keys_to_come, NULL) {
    const struct kernel *kernel = selected(target);
    const size_t n = longest(kernel) < 40 ? longest(kernel) : 40, pos = n / 2;
    if (!(kernel->causal || kernel->window_right == 1) || n < 2)
        return;
    struct problem problem = attention_problem(kernel, n, n, EVEN);
    const size_t q_width = kernel->heads * kernel->head_dim;
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    problem.n = problem.rows = problem.checked = pos;
    float *want = make(attention_size(&problem, pos), sizeof *want);
    attention_bits(&problem, want);
    for (size_t i = pos * k_width; i < n * k_width; i++)
        problem.k[i] = i % 2 ? NAN : INFINITY;
    for (size_t i = pos * v_width; i < n * v_width; i++)
        problem.v[i] = i % 2 ? NAN : -INFINITY;

    void *cache = guard_new(kernel->cache_bytes, AT_END);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    float *out = guard_new(attention_size(&problem, pos) * sizeof *out, AT_END);
    const float *const q = problem.q;
    cr_assert_eq(kernel->cache_reset(cache), OK);
    cr_assert_eq(kernel->cache_append(cache, 0, n, problem.k, problem.v), OK);
    cr_assert_eq(kernel->cache_attention(cache, 0, pos, q, &problem.extras, out, scratch, NULL),
                 OK);
    expect_same(kernel, "keys to come", n, out, want, attention_size(&problem, pos));
    /* one row alone too: decode has its own path */
    const struct extras last = extras_from(&problem, pos - 1);
    cr_assert_eq(kernel->cache_attention(cache, pos - 1, 1, q + (pos - 1) * q_width, &last, out,
                                         scratch, NULL),
                 OK);
    const size_t row = attention_size(&problem, 1);
    expect_same(kernel, "keys to come, one row", n, out, want + (pos - 1) * row, row);
}

/* ---- masks ---- */

static bool takes_mask(const struct kernel *kernel) { return kernel->masked; }
static bool hides_keys(const struct kernel *kernel) { return kernel->masked || kernel->key_range; }

/* What no row sees may be anything. */
EACH(target, values, hidden_keys, hides_keys) {
    const struct kernel *kernel = selected(target);
    const size_t n = kernel->capacity < 200 ? kernel->capacity : 200, rows = n < 40 ? n : 40;
    const struct problem problem = attention_problem(kernel, n, rows, EVEN);
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    const size_t size = attention_size(&problem, rows);
    float *want = make(size, sizeof *want), *out = make(size, sizeof *out);
    size_t hidden = 0;
    attend(&problem, &CACHED, want);
    for (size_t j = 0; j < n; j++) {
        bool seen = false;
        for (size_t row = 0; row < rows && !seen; row++) {
            const struct view view = view_of(&problem, row, n);
            for (size_t head = 0; head < kernel->heads; head++)
                seen = seen || view_sees(&view, head, j);
        }
        if (seen)
            continue;
        hidden++;
        for (size_t i = 0; i < k_width; i++)
            problem.k[j * k_width + i] = i % 2 ? NAN : INFINITY;
        for (size_t i = 0; i < v_width; i++)
            problem.v[j * v_width + i] = i % 2 ? NAN : -INFINITY;
    }
    cr_assert(hidden > 0 || n < 200, "%s: every key is seen", label(kernel));
    attend(&problem, &CACHED, out);
    expect_same(kernel, "hidden keys", n, out, want, size);
    attend(&problem, &by_5, out);
    expect_same(kernel, "hidden keys, by 5", n, out, want, size);
}

/* A mask that hides nothing, and biases of 0, give the bits of none. */
EACH(target, values, open_mask, takes_mask) {
    const struct kernel *kernel = selected(target);
    const size_t n = kernel->capacity < 70 ? kernel->capacity : 70, rows = n < 9 ? n : 9;
    const struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
    const size_t size = attention_size(&problem, rows);
    float *want = make(size, sizeof *want), *out = make(size, sizeof *out);
    struct problem open = problem;
    unsigned char *mask = make(rows * n, 1);
    memset(mask, 1, rows * n);
    attend(&problem, &CACHED, want);
    if (kernel->mask_bias) {
        open.extras.bias = make(kernel->heads * rows * n, sizeof(float));
        open.extras.bias_stride = n;
        open.extras.bias_head_stride = rows * n;
    } else {
        open.extras.mask = mask;
        open.extras.mask_stride = n;
    }
    attend(&open, &CACHED, out);
    expect_same(kernel, "nothing hidden", n, out, want, size);
}

/* A NaN among the biases reaches the rows and heads that it stands at. */
EACH(target, values, bias_of_nan, takes_mask) {
    const struct kernel *kernel = selected(target);
    const size_t n = kernel->capacity < 70 ? kernel->capacity : 70, rows = n < 3 ? n : 3;
    const struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
    const size_t size = attention_size(&problem, rows), width = size / rows / kernel->heads;
    struct problem bad = problem;
    float *bias = make(kernel->heads * rows * n, sizeof *bias);
    if (!kernel->mask_bias)
        return;
    float *want = make(size, sizeof *want), *out = make(size, sizeof *out);
    bad.extras.bias = bias;
    bad.extras.bias_stride = n;
    bad.extras.bias_head_stride = rows * n;
    attend(&problem, &CACHED, want);
    bias[(rows - 1) * n + n - rows] = NAN; /* of head 0, or of all */
    attend(&bad, &CACHED, out);
    for (size_t i = 0; i < size; i++) {
        const struct view view = view_of(&problem, i / width / kernel->heads, n);
        const size_t head = i / width % kernel->heads;
        const bool seen = i / width / kernel->heads == rows - 1 &&
                          (!kernel->mask_heads || head == 0) && view_sees(&view, head, n - rows);
        cr_assert(seen ? isnan(out[i]) : same_float(out[i], want[i]), "%s: [%zu] is %g",
                  label(kernel), i, (double)out[i]);
    }
}

/* ---- rows without a key ---- */

EACH(target, values, no_keys, NULL) {
    const struct kernel *kernel = selected(target);
    const size_t n_q = longest(kernel) < 5 ? longest(kernel) : 5;
    if (kernel->exact)
        return;
    const struct problem problem = unmasked_problem(kernel, n_q, n_q, EVEN);
    const size_t size = attention_size(&problem, n_q);
    const float zero = 0;
    float *want = make(size, sizeof *want), *out = guard_new(size * sizeof *out, AT_END);
    void *scratch = guard_new(kernel->scratch_bytes(0), AT_END);
    memset(scratch, 0xff, kernel->scratch_bytes(0));
    for (size_t n_kv = 0; n_kv < n_q; n_kv++) {
        /* the first rows stand before position 0 */
        size_t blind = 0;
        struct view views[5];
        for (size_t i = 0; i < n_q; i++) {
            views[i] = view_at(kernel, (ptrdiff_t)n_kv - (ptrdiff_t)(n_q - i), n_kv);
            blind += views[i].first == views[i].end;
        }
        memset(out, 0xff, size * sizeof *out);
        cr_assert_eq(kernel->attention(problem.q, n_kv ? problem.k : NULL, n_kv ? problem.v : NULL,
                                       n_q, n_kv, &problem.extras, out, scratch, NULL),
                     OK);
        for (size_t i = 0; i < attention_size(&problem, blind); i++)
            cr_assert(memcmp(&out[i], &zero, sizeof zero) == 0, "%s: n_q %zu, n_kv %zu: [%zu] %g",
                      label(kernel), n_q, n_kv, i, (double)out[i]);
        if (!n_kv)
            continue;
        definition_attention(kernel, problem.q + blind * kernel->heads * kernel->head_dim,
                             problem.k, problem.v, n_q - blind, &problem.extras, views + blind,
                             want);
        expect_same(kernel, "more queries than keys", n_kv, out + attention_size(&problem, blind),
                    want, attention_size(&problem, n_q - blind));
    }
}

/* ---- properties ---- */

static bool weighs_alike(const struct kernel *kernel) {
    return !kernel->alibi && !kernel->relative_buckets && !kernel->sinks;
}

/* Equal scores weigh all keys alike: each channel is the mean of v. */
EACH(target, values, equal_scores, weighs_alike) {
    const struct kernel *kernel = selected(target);
    const size_t n = longest(kernel) < 530 ? longest(kernel) : 530;
    const struct problem problem = unmasked_problem(kernel, n, 1, EVEN);
    const size_t dim = kernel->v_head_dim, size = attention_size(&problem, 1);
    const struct view view = view_at(kernel, (ptrdiff_t)n - 1, n);
    float *out = make(size, sizeof *out);
    memset(problem.q, 0, kernel->heads * kernel->head_dim * sizeof(float));
    attend(&problem, &CACHED, out);
    for (size_t i = 0; i < size; i++) {
        const size_t column = i / dim * kernel->kv_heads / kernel->heads * dim + i % dim;
        double sum = 0, most = 0;
        for (size_t j = view.first; j < n; j++) {
            sum += (double)problem.v[j * kernel->kv_heads * dim + column];
            most = fmax(most, fabs(sum));
        }
        const double off = fabs((double)out[i] - sum / (double)(n - view.first));
        cr_assert_leq(off, 0x1p-23 * (most + 1), "%s: [%zu] is off by %g", label(kernel), i, off);
    }
}

static bool has_no_order(const struct kernel *kernel) { return !knows_positions(kernel); }

/* The order of the keys doesn't matter, but for rounding. */
EACH(target, values, order_of_keys, has_no_order) {
    const struct kernel *kernel = selected(target);
    const size_t n = longest(kernel) < 100 ? longest(kernel) : 100, rows = n < 3 ? n : 3;
    const struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
    struct problem reversed = problem;
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    const size_t size = attention_size(&problem, rows);
    reversed.k = make(n * k_width, sizeof(float));
    reversed.v = make(n * v_width, sizeof(float));
    for (size_t j = 0; j < n; j++) {
        memcpy(reversed.k + j * k_width, problem.k + (n - 1 - j) * k_width,
               k_width * sizeof(float));
        memcpy(reversed.v + j * v_width, problem.v + (n - 1 - j) * v_width,
               v_width * sizeof(float));
    }
    float *out = make(size, sizeof *out);
    struct bounded *want = make(size, sizeof *want), *bound = make(size, sizeof *bound);
    attention_reference(&problem, NULL, want, NULL);
    attention_reference(&reversed, NULL, bound, NULL);
    for (size_t i = 0; i < size; i++)
        want[i].squares += bound[i].squares;
    attend(&reversed, &CACHED, out);
    expect_bounded(kernel, "keys reversed", n, out, want, size);
}

/* ---- kernels among each other ---- */

static bool same_softmax(const struct kernel *a, const struct kernel *b) {
    return a->head_dim == b->head_dim && a->v_head_dim == b->v_head_dim && a->causal == b->causal &&
           a->window == b->window && a->window_right == b->window_right &&
           a->softcap == b->softcap && !a->sinks && !b->sinks && !a->alibi && !b->alibi &&
           !a->relative_buckets && !b->relative_buckets && a->mask_bias == b->mask_bias &&
           a->scale == b->scale;
}

/* Attention of `kernel` computed by `other`, which has as many KV heads as heads: the heads
 * 0..other->heads-1 of it, with k and v repeated for each head. */
static void by_other(const struct problem *problem, const struct kernel *other, float *out) {
    const struct kernel *kernel = problem->kernel;
    const size_t dim = kernel->head_dim, v_dim = kernel->v_head_dim, heads = other->heads;
    struct problem repeated = *problem;
    repeated.kernel = other;
    repeated.q = make(problem->rows * heads * dim, sizeof(float));
    repeated.k = make(problem->n * heads * dim, sizeof(float));
    repeated.v = make(problem->n * heads * v_dim, sizeof(float));
    for (size_t h = 0; h < heads; h++) {
        const size_t kv = h * kernel->kv_heads / kernel->heads, kv_heads = kernel->kv_heads;
        copy_head(problem->q, problem->rows, kernel->heads, h, repeated.q, heads, h, dim);
        copy_head(problem->k, problem->n, kv_heads, kv, repeated.k, heads, h, dim);
        copy_head(problem->v, problem->n, kv_heads, kv, repeated.v, heads, h, v_dim);
    }
    attend(&repeated, &CACHED, out);
}

/* A head is attention of its own, and GQA is MHA with keys and values repeated, to the bit: against
 * all kernels of one head, or of as many heads, with the same softmax. */
EACH(target, values, same_as_other_kernels, NULL) {
    const struct kernel *kernel = selected(target);
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *other = kernels[i];
        if (i == target->kernel || !same_softmax(kernel, other) ||
            other->kv_heads != other->heads || (other->heads != 1 && other->heads != kernel->heads))
            continue;
        if (is_fused(other) != is_fused(kernel) && !native(i, is_fused(kernel)))
            continue; /* it has other bits */
        const size_t least = longest(kernel) < longest(other) ? longest(kernel) : longest(other);
        const size_t n = least < 40 ? least : 40, rows = n < 7 ? n : 7;
        const struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
        const size_t size = attention_size(&problem, rows);
        const size_t count = rows * other->heads * other->v_head_dim;
        float *out = make(size, sizeof *out), *want = make(count, sizeof *want);
        float *got = make(count, sizeof *got);
        attend(&problem, &CACHED, out);
        by_other(&problem, other, want);
        for (size_t h = 0; h < other->heads; h++)
            copy_head(out, rows, kernel->heads, h, got, other->heads, h, kernel->v_head_dim);
        expect_same(kernel, other->name, n, got, want, count);
    }
}
