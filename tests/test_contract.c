/* What the header promises beside numbers: statuses, memory, the instruction sets, the floating
 * point environment. Buffers that must not be written are frozen: a write is a crash. */
#include <stdint.h>
#include <string.h>

#include "pool.h"
#include "problem.h"
#include "suite.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- statuses ---- */

struct call {
    const float *q, *k, *v, *x;
    struct extras extras;
    float *out;
    const void *weights;
    void *cache, *scratch;
    size_t pos, n, n_kv;
    const struct pool *pool;
};

static int attention(const struct kernel *kernel, const struct call *c) {
    return kernel->attention(c->q, c->k, c->v, c->n, c->n_kv, &c->extras, c->out, c->scratch,
                             c->pool);
}
static int reset(const struct kernel *kernel, const struct call *c) {
    return kernel->cache_reset(c->cache);
}
static int append(const struct kernel *kernel, const struct call *c) {
    return kernel->cache_append(c->cache, c->pos, c->n, c->k, c->v);
}
static int cache_attention(const struct kernel *kernel, const struct call *c) {
    return kernel->cache_attention(c->cache, c->pos, c->n, c->q, &c->extras, c->out, c->scratch,
                                   c->pool);
}
static int layer(const struct kernel *kernel, const struct call *c) {
    return kernel->layer(c->weights, c->cache, c->pos, c->n, c->x, &c->extras, c->out, c->scratch,
                         c->pool);
}
static int block(const struct kernel *kernel, const struct call *c) {
    return kernel->block_call(c->weights, c->cache, c->pos, c->n, c->x, &c->extras, c->out,
                              c->scratch, c->pool);
}

/* From APPEND to LAYER: those that need a cache. */
enum function {
    ATTENTION,
    LAYER_ALONE,
    BLOCK_ALONE,
    APPEND,
    CACHE_ATTENTION,
    BLOCK,
    LAYER,
    RESET,
    FUNCTIONS
};
static const struct {
    const char *name;
    int (*run)(const struct kernel *kernel, const struct call *call);
    bool of_layer, of_block;
} functions[FUNCTIONS] = {{"attention", attention, false, false},
                          {"layer without a cache", layer, true, false},
                          {"block without a cache", block, true, true},
                          {"cache_append", append, false, false},
                          {"cache_attention", cache_attention, false, false},
                          {"block with a cache", block, true, true},
                          {"layer with a cache", layer, true, false},
                          {"cache_reset", reset, false, false}};

/* Whether the kernel lacks a function. */
static bool lacks(const struct kernel *kernel, enum function function) {
    return (functions[function].of_layer && !kernel->has_layer) ||
           /* it has no other keys */
           ((function == LAYER_ALONE || function == BLOCK_ALONE) && kernel->cross) ||
           (functions[function].of_block && !kernel->block);
}

/* A cache that holds some positions, and for each function a call that is right. */
struct scene {
    const struct kernel *kernel;
    size_t held; /* positions in the cache */
    size_t next; /* where the next goes: the last once more if it is full */
    struct pool pool;
    struct call right[FUNCTIONS];
};

static void refill(const struct scene *scene) {
    const struct call *call = &scene->right[APPEND];
    cr_assert_eq(reset_for(scene->kernel, call->cache, scene->kernel->capacity), OK);
    for (size_t i = 0; i < scene->held; i++)
        cr_assert_eq(scene->kernel->cache_append(call->cache, i, 1, call->k, call->v), OK);
}

static void set_scene(struct scene *scene, const struct kernel *kernel) {
    const size_t n = kernel->exact ? kernel->capacity : 1;
    const struct problem problem = unmasked_problem(kernel, n, n, EVEN);
    const size_t out = n * (kernel->heads * kernel->v_head_dim + kernel->d_model);
    struct call call = {.q = problem.q, .k = problem.k, .v = problem.v, .n = n, .n_kv = n};
    call.extras = problem.extras;
    const size_t keys = key_capacity(kernel);
    if (kernel->mask_bias) {
        call.extras.bias = make(kernel->heads * n * keys, sizeof(float));
        call.extras.bias_stride = keys;
        call.extras.bias_head_stride = n * keys;
    } else if (kernel->masked) {
        call.extras.mask = make(n * keys, 1); /* all is hidden */
        call.extras.mask_stride = keys;
    }
    call.out = guard_new(out * sizeof(float), AT_END);
    call.cache = guard_new(kernel->cache_bytes, AT_END);
    call.scratch = guard_new(kernel->scratch_bytes(2), AT_END);
    call.pool = &scene->pool;
    if (kernel->has_layer) {
        const struct weights weights = zero_weights(kernel);
        call.x = make(n * kernel->d_model, sizeof(float));
        call.weights = pack(kernel, &weights);
    }
    if (kernel->block) { /* the layer takes them, too */
        const struct weights weights = zero_weights(kernel);
        const struct block_weights own = random_block_weights(kernel, 3);
        call.weights = pack_block(kernel, &weights, &own);
    }
    scene->kernel = kernel;
    scene->pool = reversed_pool(2);
    scene->held = keys < 9 ? keys : 8;
    scene->next = scene->held < keys ? scene->held : keys - 1;
    for (enum function i = 0; i < FUNCTIONS; i++)
        scene->right[i] = call;
    scene->right[LAYER_ALONE].cache = NULL;
    scene->right[BLOCK_ALONE].cache = NULL;
    for (enum function i = APPEND; i <= LAYER; i++) {
        scene->right[i].n = 1;
        scene->right[i].pos = i == CACHE_ATTENTION ? 0 : scene->next;
    }
    refill(scene);
}

/* Whether queries must stand where the cache holds a key. */
static bool bound_to_keys(const struct kernel *kernel) { return !kernel->lse && !kernel->cross; }

/* The call must be refused with this status, before anything is written. */
static void refused(const struct scene *scene, enum function function, const struct call *call,
                    int status, const char *why) {
    const struct call *right = &scene->right[ATTENTION];
    const void *frozen[] = {right->out, right->scratch, right->cache, call->cache};
    if (lacks(scene->kernel, function))
        return;
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++)
        guard_freeze(frozen[i]);
    const int got = functions[function].run(scene->kernel, call);
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++)
        guard_thaw(frozen[i]);
    cr_assert_eq(got, status, "%s %s, %s: %d, not %d", label(scene->kernel),
                 functions[function].name, why, got, status);
}

static void accepted(const struct scene *scene, enum function function, const struct call *call,
                     const char *what) {
    const struct kernel *kernel = scene->kernel;
    if (lacks(kernel, function))
        return;
    /* Long sequences that must be exact are computed elsewhere. */
    const size_t work = function == LAYER_ALONE   ? layer_work(kernel, call->n, call->n)
                        : function == BLOCK_ALONE ? block_work(kernel, call->n, call->n)
                                                  : attention_work(kernel, call->n_kv, call->n);
    if (cost(kernel, work) > FULL.left / 2)
        return;
    const int got = functions[function].run(kernel, call);
    cr_assert_eq(got, OK, "%s %s, %s: %d", label(kernel), functions[function].name, what, got);
}

/* BAD(function, status, field, value): the right call with one thing wrong. */
#define BAD(function, status, field, value)                                                        \
    do {                                                                                           \
        struct call bad = scene.right[function];                                                   \
        bad.field = value;                                                                         \
        refused(&scene, function, &bad, status, #field " = " #value);                              \
    } while (0)

EACH(target, contract, null_pointers, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    BAD(ATTENTION, ERROR_NULL, q, NULL);
    BAD(ATTENTION, ERROR_NULL, k, NULL);
    if (!scene.kernel->mla)
        BAD(ATTENTION, ERROR_NULL, v, NULL);
    if (scene.kernel->relative_buckets) {
        BAD(ATTENTION, ERROR_NULL, extras.relative_bias, NULL);
        BAD(CACHE_ATTENTION, ERROR_NULL, extras.relative_bias, NULL);
    }
    if (scene.kernel->sinks) {
        BAD(ATTENTION, ERROR_NULL, extras.sinks, NULL);
        BAD(CACHE_ATTENTION, ERROR_NULL, extras.sinks, NULL);
    }
    BAD(RESET, ERROR_NULL, cache, NULL);
    BAD(APPEND, ERROR_NULL, cache, NULL);
    BAD(APPEND, ERROR_NULL, k, NULL);
    if (!scene.kernel->mla)
        BAD(APPEND, ERROR_NULL, v, NULL);
    BAD(CACHE_ATTENTION, ERROR_NULL, cache, NULL);
    if (scene.kernel->cross) { /* nothing else holds its keys */
        BAD(LAYER, ERROR_NULL, cache, NULL);
        BAD(BLOCK, ERROR_NULL, cache, NULL);
    }
    BAD(CACHE_ATTENTION, ERROR_NULL, q, NULL);
    for (enum function i = 0; i < FUNCTIONS; i++) {
        if (i == RESET || i == APPEND)
            continue;
        BAD(i, ERROR_NULL, out, NULL);
        BAD(i, ERROR_NULL, scratch, NULL);
        if (!functions[i].of_layer)
            continue;
        BAD(i, ERROR_NULL, weights, NULL);
        BAD(i, ERROR_NULL, x, NULL);
    }
    for (enum function i = 0; i < FUNCTIONS; i++) {
        struct call serial = scene.right[i];
        serial.pool = NULL;
        accepted(&scene, i, &scene.right[i], "all right");
        accepted(&scene, i, &serial, "no pool");
    }
}

EACH(target, contract, alignment, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    for (size_t off = 4; off < scene.kernel->align; off *= 2)
        for (enum function i = 0; i < FUNCTIONS; i++) {
            if (i != RESET && i != APPEND)
                BAD(i, ERROR_ALIGN, scratch, (char *)bad.scratch + off);
            if (i >= APPEND)
                BAD(i, ERROR_ALIGN, cache, (char *)bad.cache + off);
            if (functions[i].of_layer)
                BAD(i, ERROR_ALIGN, weights, (const char *)bad.weights + off);
        }
}

EACH(target, contract, ranges, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    const size_t capacity = scene.kernel->capacity, held = scene.held, next = scene.next;
    const struct pool none = reversed_pool(0), crowd = reversed_pool(scene.kernel->max_threads + 1);
    /* queries may stand where other caches hold the keys */
    const enum function beyond = scene.kernel->lse ? CACHE_ATTENTION : FUNCTIONS;
    const bool cross = scene.kernel->cross; /* its queries stand nowhere */
    const size_t keys = key_capacity(scene.kernel);
    for (enum function i = 0; i < RESET; i++) {
        BAD(i, ERROR_RANGE, n, (i == APPEND ? keys : capacity) + 1);
        BAD(i, ERROR_RANGE, n, SIZE_MAX);
        BAD(i, ERROR_RANGE, n, SIZE_MAX / 2 + 1);
        if (i != ATTENTION && i != beyond && (!cross || i == APPEND)) {
            BAD(i, ERROR_RANGE, pos, held + 1); /* a gap, or past what is held */
            BAD(i, ERROR_RANGE, pos, keys);
        }
        if (i != ATTENTION && (!cross || i == APPEND)) {
            BAD(i, ERROR_RANGE, pos, 0x7fffffff);
            BAD(i, ERROR_RANGE, pos, SIZE_MAX); /* pos + n wraps */
        }
        if (i == APPEND)
            continue;
        BAD(i, ERROR_RANGE, pool, &none);
        BAD(i, ERROR_RANGE, pool, &crowd);
    }
    BAD(ATTENTION, ERROR_RANGE, n_kv, keys + 1);
    BAD(ATTENTION, ERROR_RANGE, n_kv, SIZE_MAX);
    if (scene.kernel->exact && capacity > 1) {
        BAD(ATTENTION, ERROR_RANGE, n, capacity - 1);
        BAD(ATTENTION, ERROR_RANGE, n_kv, capacity - 1);
        BAD(LAYER_ALONE, ERROR_RANGE, n, capacity - 1);
        BAD(BLOCK_ALONE, ERROR_RANGE, n, capacity - 1);
    }
    if (bound_to_keys(scene.kernel))
        BAD(CACHE_ATTENTION, ERROR_RANGE, n, held + 1);
    for (enum function i = 0; i < RESET; i++) {
        /* a row of a mask has to hold all keys */
        const bool appends = i == LAYER || i == BLOCK;
        const size_t keys = i == CACHE_ATTENTION || (cross && appends) ? held
                            : appends                                  ? next + 1
                                                                       : scene.right[i].n_kv;
        if (i == APPEND || !scene.kernel->masked)
            continue;
        if (scene.kernel->mask_bias)
            BAD(i, ERROR_RANGE, extras.bias_stride, keys - 1);
        else
            BAD(i, ERROR_RANGE, extras.mask_stride, keys - 1);
    }
    for (enum function i = APPEND; i <= LAYER; i++) {
        if (i == CACHE_ATTENTION)
            continue;
        if (cross && i != APPEND)
            continue;
        BAD(i, ERROR_RANGE, n, keys - next + 1);
        BAD(i, ERROR_RANGE, n, SIZE_MAX - (next ? next - 1 : 0)); /* pos + n wraps */
    }
    /* all of that left the cache as it was */
    struct call last = scene.right[CACHE_ATTENTION];
    last.pos = held - 1;
    accepted(&scene, CACHE_ATTENTION, &last, "the last position held");
}

/* Positions that a cache holds come and go as documented. */
EACH(target, contract, cache_length, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    if (scene.held < 4)
        return;
    struct call add = scene.right[APPEND], last = scene.right[CACHE_ATTENTION];
    last.pos = scene.held - 1;
    add.pos = 2;
    add.n = 0;
    accepted(&scene, APPEND, &add, "none");
    accepted(&scene, CACHE_ATTENTION, &last, "as many as before");
    add.n = 1;
    accepted(&scene, APPEND, &add, "back to 2");
    if (bound_to_keys(scene.kernel))
        refused(&scene, CACHE_ATTENTION, &last, ERROR_RANGE, "a position that is forgotten");
    last.pos = 2;
    accepted(&scene, CACHE_ATTENTION, &last, "the last position after going back");
    accepted(&scene, RESET, &add, "again");
    last.pos = 0;
    if (bound_to_keys(scene.kernel))
        refused(&scene, CACHE_ATTENTION, &last, ERROR_RANGE, "empty");
}

/* A full cache takes no more, from any call that would add. */
EACH(target, contract, full_cache, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    /* the check is the same for all, and each call compares the cache */
    struct budget budget = FULL;
    if (!spend(&budget, scene.kernel->cache_bytes))
        return;
    struct call more = scene.right[APPEND];
    for (more.pos = 0; more.pos < key_capacity(scene.kernel); more.pos++)
        accepted(&scene, APPEND, &more, "up to the capacity");
    refused(&scene, APPEND, &more, ERROR_RANGE, "full");
    if (!scene.kernel->cross) {
        refused(&scene, LAYER, &more, ERROR_RANGE, "full");
        refused(&scene, BLOCK, &more, ERROR_RANGE, "full");
    }
    more.n = 0;
    accepted(&scene, APPEND, &more, "none, at the end");
    struct call last = scene.right[CACHE_ATTENTION];
    last.pos = key_capacity(scene.kernel) - 1;
    accepted(&scene, CACHE_ATTENTION, &last, "the last position");
}

EACH(target, contract, no_rows, NULL) {

    struct scene scene;
    set_scene(&scene, selected(target));
    for (enum function i = 0; i < RESET; i++) {
        if (i < APPEND && scene.kernel->exact)
            continue;
        struct call none = scene.right[i];
        none.n = 0;
        guard_freeze(none.out);
        accepted(&scene, i, &none, "n = 0");
        guard_thaw(none.out);
    }
}

/* A kernel whose cache this one cannot take; the same one if there is no other. */
static const struct kernel *stranger(size_t index) {
    const struct kernel *own = kernels[index];
    for (size_t i = index + 1; i < index + kernel_count; i++) {
        const struct kernel *other = kernels[i % kernel_count];
        if (other->capacity != own->capacity || other->kv_heads != own->kv_heads ||
            other->head_dim != own->head_dim || other->v_head_dim != own->v_head_dim)
            return other;
    }
    return own;
}

/* Memory that never was a cache, or weights, of this kernel. */
EACH(target, contract, foreign_memory, NULL) {
    static const int bytes[] = {0x00, 0xff, 0x7f, 0x55};
    struct scene scene;
    set_scene(&scene, selected(target));
    const struct kernel *kernel = scene.kernel;
    const struct kernel *other = stranger(target->kernel);
    const size_t own = kernel->cache_bytes, others = other->cache_bytes;
    void *cache = guard_new(own > others ? own : others, AT_START);
    const size_t weights_bytes =
        kernel->block ? kernel->block->weights_bytes : kernel->weights_bytes;
    void *weights = guard_new(weights_bytes, AT_START);
    for (size_t b = 0; b <= sizeof bytes / sizeof *bytes; b++) {
        if (b < sizeof bytes / sizeof *bytes) {
            memset(cache, bytes[b], own < 4096 ? own : 4096);
            memset(weights, bytes[b], weights_bytes < 4096 ? weights_bytes : 4096);
        } else if (other != kernels[target->kernel]) {
            cr_assert_eq(other->cache_reset(cache), OK);
        }
        for (enum function i = APPEND; i <= LAYER; i++)
            BAD(i, ERROR_CACHE, cache, cache);
        BAD(LAYER, ERROR_WEIGHTS, weights, weights);
        BAD(LAYER_ALONE, ERROR_WEIGHTS, weights, weights);
        BAD(BLOCK, ERROR_WEIGHTS, weights, weights);
        BAD(BLOCK_ALONE, ERROR_WEIGHTS, weights, weights);
    }
}

EACH(target, contract, pack_weights, has_layer) {
    const struct kernel *kernel = selected(target);
    const struct weights right = zero_weights(kernel);
    char *packed = guard_new(kernel->weights_bytes, AT_END);
    guard_freeze(packed);
    cr_assert_eq(kernel->pack_weights(NULL, packed), ERROR_NULL);
    cr_assert_eq(kernel->pack_weights(&right, NULL), ERROR_NULL);
    cr_assert_eq(kernel->pack_weights(&right, packed + 4), ERROR_ALIGN);
    const float *(*const all)[ARRAYS] = (const float *(*)[ARRAYS]) & right;
    for (size_t i = 0; i < ARRAYS; i++) {
        struct weights bad = right;
        if (!(*all)[i])
            continue; /* one that this kernel has not */
        ((const float **)&bad)[i] = NULL;
        cr_assert_eq(kernel->pack_weights(&bad, packed), ERROR_NULL, "%s: weights %zu NULL",
                     label(kernel), i);
    }
}

EACH(target, contract, pack_block_weights, has_block) {
    const struct kernel *kernel = selected(target);
    const struct weights attention = zero_weights(kernel);
    const struct block_weights right = random_block_weights(kernel, 4);
    char *packed = guard_new(kernel->block->weights_bytes, AT_END);
    guard_freeze(packed);
    cr_assert_eq(kernel->pack_block_weights(NULL, NULL, packed), ERROR_NULL);
    cr_assert_eq(kernel->pack_block_weights(&attention, &right, NULL), ERROR_NULL);
    cr_assert_eq(kernel->pack_block_weights(&attention, &right, packed + 4), ERROR_ALIGN);
    for (size_t i = 0; i < BLOCK_ARRAYS; i++) {
        struct block_weights bad = right;
        if (!((const float **)&bad)[i])
            continue; /* one that this kernel has not */
        ((const float **)&bad)[i] = NULL;
        cr_assert_eq(kernel->pack_block_weights(&attention, &bad, packed), ERROR_NULL,
                     "%s: block weights %zu NULL", label(kernel), i);
    }
    struct weights bad = attention;
    bad.wo = NULL;
    cr_assert_eq(kernel->pack_block_weights(&bad, &right, packed), ERROR_NULL);
}

/* A layer's packed weights are not a block's, though they may lie where a block's have lain; a
 * block's are a layer's. */
EACH(target, contract, weights_of_layer_and_block, has_block) {
    struct scene scene;
    set_scene(&scene, selected(target));
    const struct kernel *kernel = scene.kernel;
    const struct weights weights = zero_weights(kernel);
    void *memory = guard_new(kernel->block->weights_bytes, AT_END);
    memset(memory, 0, kernel->block->weights_bytes);
    cr_assert_eq(kernel->pack_weights(&weights, memory), OK);
    BAD(BLOCK, ERROR_WEIGHTS, weights, memory);
    scene.right[LAYER].weights = memory;
    accepted(&scene, LAYER, &scene.right[LAYER], "weights of the layer");
}

/* ---- memory, environment ---- */

/* The cache is only read by attention: it may be mapped read-only. */
EACH(target, contract, attention_only_reads_the_cache, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    guard_freeze(scene.right[CACHE_ATTENTION].cache);
    accepted(&scene, CACHE_ATTENTION, &scene.right[CACHE_ATTENTION], "from a frozen cache");
}

/* Everything once, the cache as before. */
static void call_all(void *scene_) {
    const struct scene *scene = scene_;
    for (enum function i = 0; i < FUNCTIONS; i++)
        accepted(scene, i, &scene->right[i], "like all others");
    refill(scene);
}

EACH(target, contract, small_stack, NULL) {
    struct scene scene;
    set_scene(&scene, selected(target));
    for (enum function i = 0; i < RESET; i++)
        scene.right[i].pool = NULL;
    run_on_stack(64 << 10, call_all, &scene);
}

#if defined(__x86_64__)
/* The caller's rounding and treatment of subnormals are neither changed nor in the way. */
EACH(target, contract, float_control, NULL) {
    enum { FLAGS = 0x3f, ZERO_SUBNORMALS = 0x8040, ROUND_UP = 0x4000 };
    const unsigned usual = _mm_getcsr() & ~(unsigned)FLAGS;
    const unsigned all[] = {usual, usual | ZERO_SUBNORMALS, usual | ROUND_UP,
                            usual | ZERO_SUBNORMALS | ROUND_UP};
    struct scene scene;
    set_scene(&scene, selected(target));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        _mm_setcsr(all[i]);
        call_all(&scene);
        const unsigned after = _mm_getcsr() & ~(unsigned)FLAGS;
        _mm_setcsr(usual);
        cr_assert_eq(after, all[i], "%s: MXCSR %#x becomes %#x", label(scene.kernel), all[i],
                     after);
    }
}
#endif

/* ---- instruction sets, sizes ---- */

EACH(kernel, contract, use_isa, NULL) {
    const struct kernel *kernel = kernels[target->kernel];
    char id[ID_SIZE], best[ID_SIZE] = "none";
    for (size_t i = 0; isa_id(kernel, i, id); i++)
        if (!cpu_lacks(id))
            strcpy(best, id);
    cr_assert_str_eq(kernel->isa(), best, "%s runs %s, not %s", kernel->name, kernel->isa(), best);
    for (size_t i = 0; isa_id(kernel, i, id); i++) {
        const char *before = kernel->isa(), *lack = cpu_lacks(id);
        cr_assert_eq(kernel->use_isa(id), lack ? ERROR_CPU : OK, "%s %s", kernel->name, id);
        cr_assert_str_eq(kernel->isa(), lack ? before : id);
    }
    const char *before = kernel->isa();
    static const char *const wrong[] = {"", "sse", "avx", "avx2 ", "avx5122", "AVX2", "none"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(kernel->use_isa(wrong[i]), ERROR_CPU, "%s %s", kernel->name, wrong[i]);
    cr_assert_str_eq(kernel->isa(), before);
    cr_assert_eq(kernel->use_isa(NULL), strcmp(best, "none") == 0 ? ERROR_CPU : OK);
    cr_assert_str_eq(kernel->isa(), best);
}

/* Where none of a kernel's instruction sets runs, it says so, and computes nothing. */
static bool nothing_runs(const struct kernel *kernel) {
    char id[ID_SIZE];
    for (size_t i = 0; isa_id(kernel, i, id); i++)
        if (!cpu_lacks(id))
            return false;
    return true;
}

EACH(kernel, contract, no_isa_runs, nothing_runs) {
    const struct kernel *kernel = kernels[target->kernel];
    const size_t n = kernel->exact ? kernel->capacity : 1;
    const struct problem problem = attention_problem(kernel, n, n, EVEN);
    float *out = guard_new(attention_size(&problem, n) * sizeof *out, AT_END);
    void *scratch = guard_new(kernel->scratch_bytes(0), AT_END);
    guard_freeze(out);
    cr_assert_eq(kernel->attention(problem.q, problem.k, problem.v, n, n, &problem.extras, out,
                                   scratch, NULL),
                 ERROR_CPU);
}

EACH(kernel, contract, sizes, NULL) {
    const struct kernel *kernel = kernels[target->kernel];
    const size_t k = kernel->kv_heads * kernel->head_dim;
    const size_t v = kernel->mla ? 0 : kernel->kv_heads * kernel->v_head_dim; /* none of its own */
    struct array_size sizes[ARRAYS];
    size_t parameters = 0;
    weight_sizes(kernel, sizes);
    for (size_t i = 0; i < ARRAYS; i++)
        parameters += sizes[i].count;
    if (kernel->block) {
        size_t shapes[BLOCK_ARRAYS][2];
        block_shapes(kernel, shapes);
        for (size_t i = 0; i < BLOCK_ARRAYS; i++)
            parameters += (shapes[i][0] ? shapes[i][0] : 1) * shapes[i][1];
    }
    cr_assert_eq(kernel->parameters, kernel->has_layer ? parameters : 0);
    cr_assert_geq(kernel->cache_bytes, kernel->cache_positions * (k + v) * sizeof(float));
    cr_assert_geq(kernel->kv_bytes_per_token, (k + v) * sizeof(float));
    if (kernel->mla)
        cr_assert_eq(kernel->kv_bytes_per_token, k * sizeof(float));
    if (kernel->has_layer)
        cr_assert_geq(kernel->block ? kernel->block->weights_bytes : kernel->weights_bytes,
                      parameters * sizeof(float));
    for (size_t threads = 0; threads < kernel->max_threads; threads++) {
        cr_assert_eq(kernel->scratch_bytes(threads) % kernel->align, 0);
        cr_assert_leq(kernel->scratch_bytes(threads), kernel->scratch_bytes(threads + 1));
        cr_assert_leq(kernel->cache_scratch_bytes(threads), kernel->scratch_bytes(threads));
    }
}
