/* The fixed vectors of tests/data, each with every kernel whose shape it is. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "definition.h"
#include "problem.h"
#include "suite.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const double ABSOLUTE = 2e-5, RELATIVE = 2e-5;

/* ---- reading ---- */

static json_t *load(const char *file) {
    char path[64];
    json_error_t error;
    snprintf(path, sizeof path, "tests/data/%s.json", file);
    json_t *cases = json_load_file(path, 0, &error);
    cr_assert(cases, "%s:%d: %s", path, error.line, error.text);
    return cases;
}

static size_t size_of(const json_t *in, const char *key) {
    return (size_t)json_integer_value(json_object_get(in, key));
}

static const char *id_of(const json_t *in) { return json_string_value(json_object_get(in, "id")); }

/* A tensor is one number for all, {seed, amp, plus} of `fill`, or a list. */
static float *tensor(const json_t *in, const char *key, size_t count) {
    const json_t *given = json_object_get(in, key);
    float *made = make(count, sizeof *made);
    if (json_is_object(given))
        fill(made, count, (uint32_t)size_of(given, "seed"),
             (float)json_number_value(json_object_get(given, "amp")));
    const float plus = (float)json_number_value(json_object_get(given, "plus"));
    for (size_t i = 0; i < count && json_is_object(given); i++)
        made[i] += plus;
    for (size_t i = 0; i < count && !json_is_object(given); i++)
        made[i] = (float)json_number_value(json_is_array(given) ? json_array_get(given, i) : given);
    return made;
}

/* ---- which kernels ---- */

static bool same_rope(const struct kernel *kernel, const json_t *rope) {
    if (!rope)
        return !kernel->rotary_dim;
    const char *layout = json_string_value(json_object_get(rope, "layout"));
    const json_t *scaling =
        json_object_get(rope, "scaling"); /* its type; the vectors have one of each */
    const char *own = kernel->scaling ? kernel->scaling->type : NULL;
    return kernel->rotary_dim == size_of(rope, "rotary_dim") && !kernel->rope_offset &&
           (own && scaling ? strcmp(own, json_string_value(scaling)) == 0 : !own && !scaling) &&
           kernel->rope_theta == json_number_value(json_object_get(rope, "theta")) &&
           kernel->rope_interleaved == (strcmp(layout, "interleaved") == 0);
}

static bool same_heads(const struct kernel *kernel, const json_t *in) {
    const json_t *scale = json_object_get(in, "scale");
    const double wanted = scale ? json_number_value(scale) : 1 / sqrt((double)kernel->head_dim);
    return kernel->heads == size_of(in, "heads") && kernel->kv_heads == size_of(in, "kv_heads") &&
           kernel->head_dim == size_of(in, "head_dim") &&
           kernel->v_head_dim == size_of(in, "v_head_dim") &&
           kernel->causal == json_boolean_value(json_object_get(in, "causal")) &&
           kernel->window == size_of(in, "window") &&
           kernel->window_right == size_of(in, "window_right") &&
           kernel->softcap == json_number_value(json_object_get(in, "softcap")) &&
           kernel->alibi == json_boolean_value(json_object_get(in, "alibi")) &&
           kernel->sinks == (json_object_get(in, "sinks") != NULL) && !kernel->mask_bias &&
           !kernel->relative_buckets && kernel->masked == (json_object_get(in, "mask") != NULL) &&
           fabs(kernel->scale - wanted) < 1e-15;
}

/* Attention with rope takes a layer that passes x = (q, k, v) through. */
static bool takes_attention(const struct kernel *kernel, const json_t *in) {
    const json_t *rope = json_object_get(in, "rope");
    const size_t n_q = size_of(in, "n_q"), n_kv = size_of(in, "n_kv");
    const size_t width = (kernel->heads + kernel->kv_heads) * kernel->head_dim +
                         kernel->kv_heads * kernel->v_head_dim;
    return same_heads(kernel, in) && n_q <= longest(kernel) && n_kv <= longest(kernel) &&
           (!rope || (kernel->has_layer && !kernel->qk_norm && same_rope(kernel, rope) &&
                      kernel->d_model == width)) &&
           (!kernel->exact || n_q <= n_kv);
}

static bool takes_key(const struct kernel *kernel, const json_t *in) {
    return kernel->has_layer && !kernel->qk_norm && kernel->head_dim == size_of(in, "head_dim") &&
           same_rope(kernel, json_object_get(in, "rope")) && longest(kernel) > 1 &&
           longest(kernel) > size_of(in, "pos");
}

static bool takes_layer(const struct kernel *kernel, const json_t *in) {
    return kernel->has_layer && same_heads(kernel, in) &&
           kernel->d_model == size_of(in, "d_model") && kernel->qkv_bias && kernel->o_bias &&
           !kernel->rotary_dim && !kernel->qk_norm && longest(kernel) >= size_of(in, "n") &&
           kernel->source_width == size_of(in, "source_width");
}

static bool takes_block(const struct kernel *kernel, const json_t *in) {
    const struct block *block = kernel->block;
    const char *place = json_string_value(json_object_get(in, "place"));
    return block && takes_layer(kernel, in) && strcmp(block->place, place) == 0 &&
           strcmp(block->act, json_string_value(json_object_get(in, "act"))) == 0 &&
           block->norm.layernorm && block->norm_bias && block->bias == (block->ffn > 0) &&
           !block->gated && !block->layer_scale &&
           block->norm.eps == json_number_value(json_object_get(in, "eps")) &&
           block->ffn == size_of(in, "ffn") && block->residual_multiplier == 1;
}

/* A decoder's layer has two parts, each a block. */
static bool is_part(const struct kernel *kernel, const json_t *in, const char *part) {
    return takes_block(kernel, json_object_get(in, part));
}

static bool takes_decoder(const struct kernel *kernel, const json_t *in) {
    return is_part(kernel, in, "self") || is_part(kernel, in, "cross");
}

/* The norm of a key, whose channels repeat those of the case. */
static bool takes_norm(const struct kernel *kernel, const json_t *in) {
    const size_t count = json_array_size(json_object_get(in, "x"));
    const struct qk_norm *norm = kernel->qk_norm;
    return norm && norm->layernorm == json_boolean_value(json_object_get(in, "layernorm")) &&
           norm->eps == json_number_value(json_object_get(in, "eps")) && longest(kernel) > 1 &&
           kernel->head_dim % count == 0;
}

static const struct {
    const char *file;
    bool (*takes)(const struct kernel *kernel, const json_t *in);
} files[] = {{"attention", takes_attention}, {"rope", takes_key},        {"layer", takes_layer},
             {"block", takes_block},         {"decoder", takes_decoder}, {"norm", takes_norm}};

/* No vector is left out because a spec went missing. */
Test(vectors, all_have_a_kernel) {
    for (size_t f = 0; f < sizeof files / sizeof *files && kernels_are_all; f++) {
        size_t index;
        json_t *cases = load(files[f].file), *in;
        json_array_foreach(cases, index, in) {
            size_t takers = 0;
            for (size_t i = 0; i < kernel_count; i++)
                takers += files[f].takes(kernels[i], in);
            cr_assert(takers, "no spec has the shape of %s", id_of(in));
        }
    }
}

/* ---- comparing ---- */

static bool near(double got, double want) {
    return fabs(got - want) <= ABSOLUTE + RELATIVE * fabs(want);
}

/* The definition's activations, which test_values.c holds those of blocks to. */
Test(vectors, activations) {
    size_t index;
    json_t *cases = load("activation"), *in;
    json_array_foreach(cases, index, in) {
        const char *act = json_string_value(json_object_get(in, "act"));
        const json_t *x = json_object_get(in, "x"), *wanted = json_object_get(in, "want");
        const double tolerance = json_number_value(json_object_get(in, "tolerance"));
        cr_assert(json_array_size(x) && json_array_size(x) == json_array_size(wanted));
        for (size_t i = 0; i < 2 * json_array_size(x); i++) {
            const float number = (float)json_number_value(json_array_get(x, i / 2));
            const double want = json_number_value(json_array_get(wanted, i / 2));
            const double got = (double)definition_activation(i % 2, act, number);
            cr_assert(fabs(got - want) <= tolerance * (1 + fabs(want)),
                      "%s: %s(%g) is %.9g, not %.9g", id_of(in), act, (double)number, got, want);
        }
    }
}

/* A case tells rows in full ("rows"), single numbers ("samples": [index, value]), the "sum" and the
 * sum of squares ("sum_sq") of all: whatever it has is compared. */
static void expect_vector(const struct kernel *kernel, const json_t *in, const char *way,
                          const float *got, size_t rows, size_t width) {
    const json_t *all = json_object_get(in, "rows"), *samples = json_object_get(in, "samples");
    const double count = (double)(rows * width);
    double sum = 0, squares = 0;
    size_t compared = 0;
    for (size_t row = 0; row < rows; row++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", row);
        const json_t *wanted = json_object_get(all, key);
        for (size_t i = 0; i < width; i++) {
            const double value = (double)got[row * width + i];
            sum += value;
            squares += value * value;
            if (!wanted)
                continue;
            const double want = json_number_value(json_array_get(wanted, i));
            cr_assert(near(value, want), "%s %s %s: [%zu][%zu] is %.9g, not %.9g", label(kernel),
                      id_of(in), way, row, i, value, want);
            compared++;
        }
    }
    for (size_t i = 0; i < json_array_size(samples); i++, compared++) {
        const json_t *sample = json_array_get(samples, i);
        const size_t at_index = (size_t)json_integer_value(json_array_get(sample, 0));
        const double want = json_number_value(json_array_get(sample, 1));
        cr_assert(near((double)got[at_index], want), "%s %s %s: [%zu] is %.9g, not %.9g",
                  label(kernel), id_of(in), way, at_index, (double)got[at_index], want);
    }
    cr_assert(compared, "%s compares nothing", id_of(in));
    if (!json_object_get(in, "sum"))
        return;
    const double want_sum = json_number_value(json_object_get(in, "sum"));
    const double want_squares = json_number_value(json_object_get(in, "sum_sq"));
    cr_assert_leq(fabs(sum - want_sum), sqrt(count) * ABSOLUTE * 10, "%s %s %s: sum %.9g, not %.9g",
                  label(kernel), id_of(in), way, sum, want_sum);
    cr_assert_leq(fabs(squares - want_squares), 4 * count * ABSOLUTE, "%s %s: sum of squares",
                  label(kernel), id_of(in));
}

/* ---- attention ---- */

static const struct way attention_ways[] = {
    {.name = "direct"},
    {.name = "cache", .cache = true},
    {.name = "cache by 1", .cache = true, .chunk = 1},
    {.name = "cache by 3, 2 threads", .cache = true, .chunk = 3, .threads = 2},
};

static struct problem read_attention(const struct kernel *kernel, const json_t *in) {
    const size_t n_q = size_of(in, "n_q"), n_kv = size_of(in, "n_kv");
    struct problem problem = {.kernel = kernel, .n = n_kv, .rows = n_q, .checked = n_q};
    problem.q = tensor(in, "q", n_q * kernel->heads * kernel->head_dim);
    problem.k = tensor(in, "k", n_kv * kernel->kv_heads * kernel->head_dim);
    problem.v = tensor(in, "v", n_kv * kernel->kv_heads * kernel->v_head_dim);
    problem.extras.end_key = SIZE_MAX;
    if (kernel->sinks)
        problem.extras.sinks = tensor(in, "sinks", kernel->heads);
    if (kernel->masked) {
        const float *given = tensor(in, "mask", n_q * n_kv);
        unsigned char *mask = make(n_q * n_kv, 1);
        for (size_t i = 0; i < n_q * n_kv; i++)
            mask[i] = given[i] != 0;
        problem.extras.mask = mask;
        problem.extras.mask_stride = n_kv;
    }
    const size_t expired = size_of(in, "nan_before") * kernel->kv_heads;
    for (size_t i = 0; i < expired * kernel->head_dim; i++)
        problem.k[i] = NAN;
    for (size_t i = 0; i < expired * kernel->v_head_dim; i++)
        problem.v[i] = NAN;
    return problem;
}

/* More queries than keys: `attend` has no positions below 0. */
static void attend_alone(const struct problem *problem, float *out) {
    const struct kernel *kernel = problem->kernel;
    void *scratch = guard_new(kernel->scratch_bytes(0), AT_END);
    cr_assert_eq(kernel->attention(problem->q, problem->k, problem->v, problem->rows, problem->n,
                                   &problem->extras, out, scratch, NULL),
                 OK);
}

/* The cache is full of `stale` (k, v) where a shorter sequence begins anew. */
static void attend_stale(const struct problem *problem, const json_t *stale, float *out) {
    const struct kernel *kernel = problem->kernel;
    const size_t k_size = longest(kernel) * kernel->kv_heads * kernel->head_dim;
    const size_t v_size = longest(kernel) * kernel->kv_heads * kernel->v_head_dim;
    float *k = make(k_size, sizeof *k), *v = make(v_size, sizeof *v);
    const float bad_k = strtof(json_string_value(json_array_get(stale, 0)), NULL);
    const float bad_v = strtof(json_string_value(json_array_get(stale, 1)), NULL);
    for (size_t i = 0; i < k_size; i++)
        k[i] = bad_k;
    for (size_t i = 0; i < v_size; i++)
        v[i] = bad_v;
    void *cache = guard_new(kernel->cache_bytes, AT_END);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    cr_assert_eq(kernel->cache_reset(cache), OK);
    cr_assert_eq(kernel->cache_append(cache, 0, longest(kernel), k, v), OK);
    cr_assert_eq(kernel->cache_append(cache, 0, problem->n, problem->k, problem->v), OK);
    cr_assert_eq(kernel->cache_attention(cache, problem->n - problem->rows, problem->rows,
                                         problem->q, &problem->extras, out, scratch, NULL),
                 OK);
}

/* A layer that passes x = (q, k, v) through, and the attention in y's first channels. */
static void attend_layer(const struct problem *problem, const struct way *way, float *out) {
    const struct kernel *kernel = problem->kernel;
    const size_t width = kernel->d_model, dim = kernel->head_dim, v_dim = kernel->v_head_dim;
    const size_t q = kernel->heads * dim, k = kernel->kv_heads * dim, v = kernel->kv_heads * v_dim;
    const size_t mixed = kernel->heads * v_dim, n = problem->n;
    const struct weights weights = zero_weights(kernel);
    struct problem layer = *problem;
    layer.x = make(n * width, sizeof(float));
    const struct {
        const float *matrix, *from;
        size_t first, count;
    } parts[] = {{weights.wq, problem->q, 0, q},
                 {weights.wk, problem->k, q, k},
                 {weights.wv, problem->v, q + k, v}};
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < parts[p].count; i++) {
            *at(kernel, parts[p].matrix, parts[p].first + i, width, i, parts[p].count) = 1;
            for (size_t row = 0; row < n; row++)
                layer.x[row * width + parts[p].first + i] = parts[p].from[row * parts[p].count + i];
        }
    for (size_t i = 0; i < mixed; i++)
        *at(kernel, weights.wo, i, mixed, i, width) = 1;
    layer.packed = pack(kernel, &weights);
    float *y = make(n * width, sizeof *y);
    run_layer(&layer, way, y);
    copy_head(y, n, width, 0, out, mixed, 0, 1);
    for (size_t i = 1; i < mixed; i++)
        copy_head(y, n, width, i, out, mixed, i, 1);
}

static void attention_case(const struct kernel *kernel, const json_t *in) {
    const struct problem problem = read_attention(kernel, in);
    const json_t *stale = json_object_get(in, "stale"), *nan_in_v = json_object_get(in, "nan_in_v");
    const size_t rows = problem.rows, width = kernel->heads * kernel->v_head_dim;
    float *out = make(rows * width, sizeof *out);
    if (problem.n < rows) {
        attend_alone(&problem, out);
        expect_vector(kernel, in, "alone", out, rows, width);
        return;
    }
    if (stale) {
        attend_stale(&problem, stale, out);
        expect_vector(kernel, in, "stale", out, rows, width);
    }
    for (size_t i = 0; i < sizeof attention_ways / sizeof *attention_ways; i++) {
        const struct way *way = &attention_ways[i];
        if (nan_in_v)
            problem.v[json_integer_value(nan_in_v)] = NAN;
        if (json_object_get(in, "rope")) {
            if (!layer_fits(&problem, way))
                continue;
            attend_layer(&problem, way, out);
        } else {
            if (!attention_fits(&problem, way))
                continue;
            attend(&problem, way, out);
        }
        if (!nan_in_v) {
            expect_vector(kernel, in, way->name, out, rows, width);
            continue;
        }
        const size_t channel = size_of(in, "nan_channel");
        for (size_t j = 0; j < rows * width; j++)
            cr_assert_eq(isnan(out[j]) != 0, j % kernel->v_head_dim == channel, "%s %s [%zu]: %g",
                         label(kernel), id_of(in), j, (double)out[j]);
    }
}

static void each_attention_case(const struct kernel *kernel) {
    size_t index;
    json_t *cases = load("attention"), *in;
    json_array_foreach(cases, index, in) {
        const size_t mark = guard_mark();
        if (takes_attention(kernel, in))
            attention_case(kernel, in);
        guard_release(mark);
    }
}

EACH(target, vectors, attention, NULL) {
    const struct kernel *kernel = selected(target);
    each_attention_case(kernel);
#if defined(__x86_64__)
    const unsigned usual = _mm_getcsr();
    _mm_setcsr(usual | 0x8040); /* the caller flushes subnormals to zero */
    each_attention_case(kernel);
    _mm_setcsr(usual);
#endif
}

/* ---- rope, layer ---- */

EACH(target, vectors, rope, shows_turned_keys) {
    const struct kernel *kernel = selected(target);
    size_t index;
    json_t *cases = load("rope"), *in;
    json_array_foreach(cases, index, in) {
        if (!takes_key(kernel, in))
            continue;
        const size_t mark = guard_mark();
        const float *k = tensor(in, "k", kernel->head_dim);
        const float *want = tensor(in, "want", kernel->head_dim);
        double *got = make(kernel->kv_heads * kernel->head_dim, sizeof *got);
        key_in_cache(kernel, k, NULL, size_of(in, "pos"), want, got);
        for (size_t i = 0; i < kernel->kv_heads * kernel->head_dim; i++) {
            const double wanted = (double)want[i % kernel->head_dim];
            cr_assert_leq(fabs(got[i] - wanted), 1e-6 * fmax(1, fabs(wanted)),
                          "%s %s: [%zu] is %.9g, not %.9g", label(kernel), id_of(in), i, got[i],
                          wanted);
        }
        guard_release(mark);
    }
}

/* `count` numbers of a case as the channels of a head, over and over. */
static float *repeated(const struct kernel *kernel, const json_t *in, const char *key,
                       size_t count) {
    const float *once = tensor(in, key, count);
    float *made = make(kernel->head_dim, sizeof *made);
    for (size_t d = 0; d < kernel->head_dim; d++)
        made[d] = once[d % count];
    return made;
}

/* At position 0, where nothing turns. */
EACH(target, vectors, norm, shows_normed_keys) {
    const struct kernel *kernel = selected(target);
    size_t index;
    json_t *cases = load("norm"), *in;
    json_array_foreach(cases, index, in) {
        if (!takes_norm(kernel, in))
            continue;
        const size_t mark = guard_mark(), count = json_array_size(json_object_get(in, "x"));
        const float *x = repeated(kernel, in, "x", count),
                    *w = repeated(kernel, in, "weight", count);
        const float *want = repeated(kernel, in, "want", count);
        const double tolerance = json_number_value(json_object_get(in, "tolerance"));
        double *got = make(kernel->kv_heads * kernel->head_dim, sizeof *got);
        key_in_cache(kernel, x, w, 0, want, got);
        for (size_t i = 0; i < kernel->kv_heads * kernel->head_dim; i++)
            cr_assert_leq(fabs(got[i] - (double)want[i % kernel->head_dim]), tolerance,
                          "%s %s: [%zu] is %.9g, not %.9g", label(kernel), id_of(in), i, got[i],
                          (double)want[i % kernel->head_dim]);
        guard_release(mark);
    }
}

/* A matrix [outputs][inputs] into one that the kernel takes. */
static const float *turned(const struct kernel *kernel, const float *from, size_t inputs,
                           size_t outputs) {
    float *to = make(inputs * outputs, sizeof *to);
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = 0; i < inputs; i++)
            *at(kernel, to, i, inputs, o, outputs) = from[o * inputs + i];
    return to;
}

/* The packed weights of a layer as nn.MultiheadAttention names them, or (`whole`) of a block as
 * nn.TransformerEncoderLayer does. */
static void *read_packed(const struct kernel *kernel, const json_t *in, bool whole) {
    const size_t width = kernel->d_model;
    const float *projection = tensor(in, "in_proj_weight", 3 * width * width);
    const float *bias = tensor(in, "in_proj_bias", 3 * width);
    const float *out_projection = tensor(in, "out_proj_weight", width * width);
    struct weights weights = {.bq = bias, .bk = bias + width, .bv = bias + 2 * width};
    weights.wq = turned(kernel, projection, width, width);
    weights.wk = turned(kernel, projection + width * width, width, width);
    weights.wv = turned(kernel, projection + 2 * width * width, width, width);
    weights.wo = turned(kernel, out_projection, width, width);
    weights.bo = tensor(in, "out_proj_bias", width);
    if (!whole)
        return pack(kernel, &weights);
    const size_t ffn = kernel->block->ffn;
    const bool pre = strcmp(kernel->block->place, "pre") == 0;
    struct block_weights block = {0};
    *(pre ? &block.attention_norm : &block.attention_post_norm) = tensor(in, "norm1_weight", width);
    *(pre ? &block.attention_norm_bias : &block.attention_post_norm_bias) =
        tensor(in, "norm1_bias", width);
    if (ffn) {
        block.w_up = turned(kernel, tensor(in, "linear1_weight", width * ffn), width, ffn);
        block.b_up = tensor(in, "linear1_bias", ffn);
        block.w_down = turned(kernel, tensor(in, "linear2_weight", width * ffn), ffn, width);
        block.b_down = tensor(in, "linear2_bias", width);
        *(pre ? &block.ffn_norm : &block.ffn_post_norm) = tensor(in, "norm2_weight", width);
        *(pre ? &block.ffn_norm_bias : &block.ffn_post_norm_bias) = tensor(in, "norm2_bias", width);
    }
    return pack_block(kernel, &weights, &block);
}

static void layer_case(const struct kernel *kernel, const json_t *in, bool whole) {
    const size_t width = kernel->d_model, n = size_of(in, "n");
    struct problem problem = {.kernel = kernel, .n = n, .rows = n, .whole = whole};
    problem.packed = read_packed(kernel, in, whole);
    problem.x = tensor(in, "x", n * width);
    float *y = make(n * width, sizeof *y);
    for (size_t i = 0; i < sizeof attention_ways / sizeof *attention_ways; i++) {
        const struct way *way = &attention_ways[i];
        if (!layer_fits(&problem, way) || (way->chunk && !kernel->causal))
            continue;
        run_layer(&problem, way, y);
        expect_vector(kernel, in, way->name, y, n, width);
    }
}

static void each_layer_case(const struct kernel *kernel, bool whole) {
    size_t index;
    json_t *cases = load(whole ? "block" : "layer"), *in;
    json_array_foreach(cases, index, in) {
        const size_t mark = guard_mark();
        if ((whole ? takes_block : takes_layer)(kernel, in))
            layer_case(kernel, in, whole);
        guard_release(mark);
    }
}

EACH(target, vectors, layer, has_layer) { each_layer_case(selected(target), false); }
EACH(target, vectors, block, has_block) { each_layer_case(selected(target), true); }

/* One part of the case's layer: x [n][d_model] becomes y; cross attention's source is `memory`. */
static void run_part(const struct kernel *kernel, const json_t *in, const char *part,
                     const struct way *way, float *x, float *y) {
    struct problem problem = {.kernel = kernel, .rows = size_of(in, "n"), .whole = true, .x = x};
    problem.n = problem.rows;
    if (kernel->cross) {
        problem.n = size_of(in, "n_source");
        problem.source = tensor(in, "memory", problem.n * kernel->source_width);
    }
    problem.packed = read_packed(kernel, json_object_get(in, part), true);
    run_layer(&problem, way, y);
}

/* nn.TransformerDecoderLayer of two kernels, of which this one is the one or the other. */
static void decoder_case(const struct kernel *kernel, const json_t *in) {
    const bool first = is_part(kernel, in, "self"), fused = is_fused(kernel);
    const size_t n = size_of(in, "n"), width = kernel->d_model;
    float *x = tensor(in, "x", n * width);
    float *sum = make(n * width, sizeof *sum), *y = make(n * width, sizeof *y);
    size_t other = 0;
    while (other < kernel_count && !is_part(kernels[other], in, first ? "cross" : "self"))
        other++;
    const struct kernel *const partner = other < kernel_count ? native(other, fused) : NULL;
    cr_assert(partner || !kernels_are_all, "no spec is the other part of %s", id_of(in));
    for (size_t i = 0; i < sizeof attention_ways / sizeof *attention_ways && partner; i++) {
        const struct way *way = &attention_ways[i];
        if (!way->cache) /* cross attention has no other way */
            continue;
        run_part(first ? kernel : partner, in, "self", way, x, sum);
        run_part(first ? partner : kernel, in, "cross", way, sum, y);
        expect_vector(kernel, in, way->name, y, n, width);
    }
}

EACH(target, vectors, decoder, has_block) {
    const struct kernel *kernel = selected(target);
    size_t index;
    json_t *cases = load("decoder"), *in;
    json_array_foreach(cases, index, in) {
        const size_t mark = guard_mark();
        if (takes_decoder(kernel, in))
            decoder_case(kernel, in);
        guard_release(mark);
    }
}
