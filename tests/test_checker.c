/* The checker checked: a test is of use only if it fails when it should. For each kernel's shape,
 * results with typical faults must be outside the bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "suite.h"

Test(checker, nan_and_infinity) {
    const float numbers[] = {1, NAN, INFINITY};
    const double doubles[] = {1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 3; k++) {
                const struct bounded want[] = {{2, 0}, {doubles[j], doubles[k]}};
                const float got[] = {2, numbers[i]};
                const struct verdict verdict = reference_check(got, want, 2);
                cr_assert_eq(verdict.good, i + j + k == 0);
                cr_assert(verdict.good || verdict.at == 1);
            }
    cr_assert(same_float(NAN, -NAN));
    cr_assert_not(same_float(0.0F, -0.0F));
    cr_assert_not(same_float(NAN, 1));
}

/* A right problem to be spoilt. */
struct fault {
    struct kernel kernel;
    struct problem problem; /* of that kernel */
    struct view *views;     /* what each row sees */
};

static bool one_key_less(struct fault *fault) {
    for (size_t i = 0; i < fault->problem.rows; i++)
        fault->views[i].end -= fault->views[i].end > fault->views[i].first + 1;
    return fault->problem.n > 1 && fault->kernel.window != 1;
}

static bool one_key_more(struct fault *fault) {
    for (size_t i = 0; i < fault->problem.rows; i++)
        fault->views[i].end += fault->views[i].end < fault->problem.n;
    return (fault->kernel.causal || fault->kernel.window_right == 1) && fault->problem.rows > 1;
}

static bool own_key_not_counted(struct fault *fault) {
    const struct view *last = &fault->views[fault->problem.rows - 1];
    const bool bounded = last->first > 0;
    for (size_t i = 0; i < fault->problem.rows; i++)
        fault->views[i].first -= fault->views[i].first > 0;
    return bounded;
}

static bool window_too_narrow(struct fault *fault) {
    for (size_t i = 0; i < fault->problem.rows; i++)
        fault->views[i].first += fault->views[i].first + 1 < fault->views[i].end;
    return fault->kernel.window > 1 && fault->problem.n > 1;
}

/* KV heads dealt out in turn, not in groups. */
static bool heads_in_turn(struct fault *fault) {
    const size_t heads = fault->kernel.heads, kv_heads = fault->kernel.kv_heads;
    const size_t dim = fault->kernel.head_dim, v_dim = fault->kernel.v_head_dim;
    const size_t n = fault->problem.n;
    if (kv_heads == 1 || kv_heads == heads)
        return false;
    float *k = make(n * heads * dim, sizeof *k), *v = make(n * heads * v_dim, sizeof *v);
    for (size_t h = 0; h < heads; h++) {
        copy_head(fault->problem.k, n, kv_heads, h % kv_heads, k, heads, h, dim);
        copy_head(fault->problem.v, n, kv_heads, h % kv_heads, v, heads, h, v_dim);
    }
    fault->problem.k = k;
    fault->problem.v = v;
    fault->kernel.kv_heads = heads;
    return true;
}

static bool scale_off(struct fault *fault) {
    fault->kernel.scale *= 1.001;
    return fault->problem.n > 1 && fault->kernel.window != 1;
}

static bool cap_off(struct fault *fault) {
    fault->kernel.softcap *= 2;
    return fault->kernel.softcap > 0 && fault->problem.n > 1;
}

static bool no_relative_bias(struct fault *fault) {
    fault->kernel.relative_buckets = 0;
    return fault->problem.kernel->relative_buckets != 0;
}

static bool no_sink(struct fault *fault) {
    fault->kernel.sinks = false;
    return fault->problem.extras.sinks != NULL;
}

static bool no_mask(struct fault *fault) {
    const struct problem *problem = &fault->problem;
    for (size_t row = 0; row < problem->rows; row++)
        fault->views[row] = view_at(&fault->kernel, fault->views[row].position, problem->n);
    return (fault->kernel.masked || fault->kernel.key_range) && problem->n > 60;
}

static bool other_slopes(struct fault *fault) {
    fault->kernel.alibi_bias_max *= 1.01;
    return fault->kernel.alibi && fault->problem.n > 1;
}

static bool other_pairs(struct fault *fault) {
    fault->kernel.rope_interleaved = !fault->kernel.rope_interleaved;
    return fault->kernel.rotary_dim > 2 && fault->problem.n > 1;
}

static bool other_theta(struct fault *fault) {
    fault->kernel.rope_theta *= 2;
    return fault->kernel.rotary_dim > 2 && fault->problem.n > 1;
}

static bool unscaled(struct fault *fault) {
    const bool scaled = fault->kernel.scaling != NULL;
    fault->kernel.scaling = NULL;
    return scaled && fault->problem.n > 1;
}

/* A norm of which one fact is wrong; false if the kernel has none. */
static bool other_norm(struct fault *fault, struct qk_norm *norm) {
    if (!fault->kernel.qk_norm)
        return false;
    *norm = *fault->kernel.qk_norm;
    fault->kernel.qk_norm = norm;
    return fault->problem.n > 1;
}

static bool other_type_of_norm(struct fault *fault) {
    static struct qk_norm norm;
    const bool applies = other_norm(fault, &norm);
    norm.layernorm = !norm.layernorm;
    return applies && fault->kernel.head_dim > 1;
}

static bool other_unit_offset(struct fault *fault) {
    static struct qk_norm norm;
    const bool applies = other_norm(fault, &norm);
    norm.unit_offset = !norm.unit_offset;
    return applies;
}

static bool other_eps(struct fault *fault) {
    static struct qk_norm norm;
    const bool applies = other_norm(fault, &norm);
    norm.eps += 1e-3;
    return applies;
}

static bool other_order_of_norm(struct fault *fault) {
    static struct qk_norm norm;
    const bool applies = other_norm(fault, &norm);
    norm.after_rope = !norm.after_rope;
    return applies && fault->kernel.rotary_dim;
}

static bool transposed(struct fault *fault) {
    fault->kernel.weights_in_out = !fault->kernel.weights_in_out;
    return fault->kernel.d_model > 1;
}

static bool no_bias(struct fault *fault) {
    fault->problem.weights.bo = NULL;
    return fault->kernel.o_bias;
}

/* The spoilt reference, as a float kernel would give it, must be refused. */
static void expect_caught(const char *name, const struct problem *problem,
                          const struct bounded *spoilt, const struct bounded *want, size_t size) {
    float *got = make(size, sizeof *got);
    for (size_t i = 0; i < size; i++)
        got[i] = (float)spoilt[i].value;
    cr_assert_not(reference_check(got, want, size).good, "%s n %zu: %s stays within the bound",
                  problem->kernel->name, problem->n, name);
    free(got);
}

EACH(kernel, checker, attention_faults, NULL) {
    static const struct {
        const char *name;
        bool (*spoil)(struct fault *fault);
    } faults[] = {{"one key less", one_key_less},
                  {"one key more", one_key_more},
                  {"the window without the own key", own_key_not_counted},
                  {"a window of one key less", window_too_narrow},
                  {"twice the soft cap", cap_off},
                  {"no sinks", no_sink},
                  {"no relative biases", no_relative_bias},
                  {"slopes of ALiBi off by 1 %", other_slopes},
                  {"no mask, no range of keys", no_mask},
                  {"heads in turn", heads_in_turn},
                  {"scale off by 0.1 %", scale_off}};
    static const size_t sizes[] = {5, 65, 600};
    const struct kernel *kernel = kernels[target->kernel];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = longest(kernel) < sizes[s] ? longest(kernel) : sizes[s];
        const size_t rows = n < 2 ? n : 2;
        /* masks may hide what else is wrong */
        const struct problem open = unmasked_problem(kernel, n, rows, EVEN);
        const struct problem masked = attention_problem(kernel, n, rows, EVEN);
        const size_t size = attention_size(&open, rows);
        struct bounded *want = make(size, sizeof *want), *bad = make(size, sizeof *bad);
        float *got = make(size, sizeof *got);
        attention_reference(&open, NULL, want, NULL);
        attention_bits(&open, got);
        cr_assert(reference_check(got, want, size).good, "%s: the definition is refused",
                  kernel->name);
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
            const struct problem problem = faults[i].spoil == no_mask ? masked : open;
            struct view views[2] = {0};
            for (size_t row = 0; row < rows; row++)
                views[row] = view_of(&problem, row, n);
            struct fault fault = {*kernel, problem, views};
            fault.problem.kernel = &fault.kernel;
            if (!faults[i].spoil(&fault))
                continue;
            attention_reference(&problem, NULL, want, NULL);
            attention_reference(&fault.problem, views, bad, NULL);
            expect_caught(faults[i].name, &problem, bad, want, size);
        }
    }
}

/* A block of which one fact is wrong; NULL if the kernel has none. */
static struct block *other_block(struct fault *fault) {
    static struct block block;
    if (!fault->kernel.block)
        return NULL;
    block = *fault->kernel.block;
    fault->kernel.block = &block;
    return &block;
}

static bool other_type_of_block_norm(struct fault *fault) {
    struct block *block = other_block(fault);
    block->norm.layernorm = !block->norm.layernorm;
    return true;
}

static bool other_block_unit_offset(struct fault *fault) {
    struct block *block = other_block(fault);
    block->norm.unit_offset = !block->norm.unit_offset;
    return true;
}

static bool other_block_eps(struct fault *fault) {
    struct block *block = other_block(fault);
    block->norm.eps += 1e-2;
    return true;
}

static bool norms_elsewhere(struct fault *fault) {
    struct block *block = other_block(fault);
    const char *place = block->place;
    block->place = strcmp(place, "post") == 0 ? "res_post" : "post";
    return strcmp(place, "pre") != 0; /* which has none after a part */
}

static bool other_activation(struct fault *fault) {
    static const char *const others[][2] = {{"gelu", "gelu_tanh"},  {"gelu_tanh", "quick_gelu"},
                                            {"quick_gelu", "silu"}, {"silu", "quick_gelu"},
                                            {"relu", "relu2"},      {"relu2", "relu"}};
    struct block *block = other_block(fault);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(fault->problem.kernel->block->act, others[i][0]) == 0)
            block->act = others[i][1];
    return block->ffn;
}

static bool gate_and_up_swapped(struct fault *fault) {
    struct block_weights *w = &fault->problem.block_weights;
    const float *gate = w->w_gate;
    w->w_gate = w->w_up;
    w->w_up = gate;
    return gate != NULL;
}

static bool no_feed_forward_bias(struct fault *fault) {
    const bool applies = fault->problem.block_weights.b_down != NULL;
    fault->problem.block_weights.b_down = NULL;
    return applies;
}

/* The multiplier is 1 where there is a layer scale. */
static bool no_layer_scale(struct fault *fault) {
    struct block_weights *w = &fault->problem.block_weights;
    const bool applies = w->attention_scale != NULL;
    w->attention_scale = w->ffn_scale = NULL;
    return applies;
}

static bool layer_scales_swapped(struct fault *fault) {
    struct block_weights *w = &fault->problem.block_weights;
    const float *of_attention = w->attention_scale;
    w->attention_scale = w->ffn_scale;
    w->ffn_scale = of_attention;
    return of_attention && w->attention_scale;
}

static bool no_feed_forward(struct fault *fault) {
    struct block *block = other_block(fault);
    const bool applies = block->ffn;
    block->ffn = 0;
    return applies;
}

static bool no_multiplier(struct fault *fault) {
    struct block *block = other_block(fault);
    const bool applies = block->residual_multiplier != 1;
    block->residual_multiplier = 1;
    return applies;
}

struct layer_fault {
    const char *name;
    bool (*spoil)(struct fault *fault);
};

/* A result with each fault that applies must be refused. */
static void expect_all_caught(const struct problem *problem, const struct layer_fault *faults,
                              size_t count) {
    const struct kernel *kernel = problem->kernel;
    const size_t size = layer_size(problem, problem->rows);
    struct bounded *want = make(size, sizeof *want), *bad = make(size, sizeof *bad);
    layer_reference(problem, 0, want);
    for (size_t i = 0; i < count; i++) {
        struct fault fault = {*kernel, *problem, NULL};
        if (!faults[i].spoil(&fault))
            continue;
        fault.problem.kernel = &fault.kernel;
        layer_reference(&fault.problem, 0, bad);
        expect_caught(faults[i].name, problem, bad, want, size);
    }
}

EACH(kernel, checker, layer_faults, has_layer) {
    static const struct layer_fault faults[] = {
        {"the other pairs of channels", other_pairs},
        {"twice theta", other_theta},
        {"rope without its scaling", unscaled},
        {"the other type of norm", other_type_of_norm},
        {"a norm's weights off by 1", other_unit_offset},
        {"a norm's eps off by 0.001", other_eps},
        {"the norm on the other side of rope", other_order_of_norm},
        {"weights transposed", transposed},
        {"no output bias", no_bias}};
    const struct kernel *kernel = kernels[target->kernel];
    const size_t n = longest(kernel) < 20 ? longest(kernel) : 20, rows = n < 2 ? n : 2;
    const struct weights weights = random_weights(kernel, 11);
    const struct problem problem = layer_problem(kernel, n, rows, &weights, NULL);
    expect_all_caught(&problem, faults, sizeof faults / sizeof *faults);
}

EACH(kernel, checker, block_faults, has_block) {
    static const struct layer_fault faults[] = {
        {"the other type of norm", other_type_of_block_norm},
        {"a norm's weights off by 1", other_block_unit_offset},
        {"a norm's eps off by 0.01", other_block_eps},
        {"the norms at another place", norms_elsewhere},
        {"another activation", other_activation},
        {"gate and up swapped", gate_and_up_swapped},
        {"no bias of the feed-forward", no_feed_forward_bias},
        {"no residual multiplier", no_multiplier},
        {"no layer scale", no_layer_scale},
        {"layer scales swapped", layer_scales_swapped},
        {"no feed-forward", no_feed_forward},
        {"weights transposed", transposed}};
    const struct kernel *kernel = kernels[target->kernel];
    const size_t n = longest(kernel) < 20 ? longest(kernel) : 20, rows = n < 2 ? n : 2;
    const struct weights weights = random_weights(kernel, 12);
    const struct block_weights block = random_block_weights(kernel, 12);
    const struct problem problem = block_problem(kernel, n, rows, &weights, &block, NULL);
    expect_all_caught(&problem, faults, sizeof faults / sizeof *faults);
}
