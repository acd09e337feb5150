/* Cross attention: queries and keys in numbers of their own, and what its calls refuse. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "definition.h"
#include "problem.h"
#include "suite.h"

static bool is_cross(const struct kernel *kernel) { return kernel->cross; }
static bool has_source(const struct kernel *kernel) { return kernel->source != NULL; }

/* As many queries as there may be, to no key, to one, to all; directly and from a cache. */
EACH(target, cross, sizes, is_cross) {
    const struct kernel *kernel = selected(target);
    const size_t keys = key_capacity(kernel), rows = kernel->capacity;
    const size_t numbers[] = {0, 1, 17, keys};
    struct budget budget = FULL;
    const size_t q_size = rows * kernel->heads * kernel->head_dim;
    const size_t size = rows * kernel->heads * kernel->v_head_dim;
    float *q = make(q_size, sizeof *q), *want = make(size, sizeof *want);
    float *out = guard_new(size * sizeof *out, AT_END);
    void *cache = guard_new(kernel->cache_bytes, AT_END);
    void *cache_scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    void *scratch = guard_new(kernel->scratch_bytes(0), AT_END);
    struct view *views = make(rows, sizeof *views);
    fill_mixed(q, q_size, 3, 1);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t n = numbers[i] < keys ? numbers[i] : keys;
        if (!spend(&budget, 3 * attention_work(kernel, n, rows)) && i)
            break;
        const struct problem problem = unmasked_problem(kernel, n, 0, EVEN);
        const float *const k = n ? problem.k : NULL, *const v = n ? problem.v : NULL;
        for (size_t row = 0; row < rows; row++)
            views[row] = (struct view){.end = n};
        definition_attention(kernel, q, k, v, rows, &problem.extras, views, want);
        memset(out, 0xff, size * sizeof *out);
        cr_assert_eq(kernel->attention(q, k, v, rows, n, &problem.extras, out, scratch, NULL), OK);
        expect_same(kernel, "direct", n, out, want, size);
        memset(out, 0xff, size * sizeof *out);
        cr_assert_eq(kernel->cache_reset(cache), OK);
        cr_assert_eq(kernel->cache_append(cache, 0, n, k, v), OK);
        guard_freeze(cache);
        cr_assert_eq(
            kernel->cache_attention(cache, 0, rows, q, &problem.extras, out, cache_scratch, NULL),
            OK);
        guard_thaw(cache);
        expect_same(kernel, "cached", n, out, want, size);
    }
}

/* One thing wrong in a call of _source at a time, and nothing is written. */
EACH(target, cross, source_refused, has_source) {
    const struct kernel *kernel = selected(target);
    const struct weights weights = zero_weights(kernel);
    const void *packed = pack(kernel, &weights);
    const size_t keys = key_capacity(kernel), two = keys < 2 ? keys : 2;
    const struct pool none = {NULL, 0, NULL};
    float *x = guard_new(2 * kernel->source_width * sizeof *x, AT_END);
    char *cache = guard_new(kernel->cache_bytes, AT_END);
    char *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    char *other = guard_new(kernel->weights_bytes, AT_END);
    memset(cache, 0x55, kernel->cache_bytes < 4096 ? kernel->cache_bytes : 4096);
    cr_assert_eq(kernel->source(packed, cache, 0, two, x, scratch, NULL), ERROR_CACHE);
    cr_assert_eq(kernel->cache_reset(cache), OK);
    cr_assert_eq(kernel->source(packed, cache, 0, two, x, scratch, NULL), OK);
    guard_freeze(cache);
    guard_freeze(scratch);
    guard_freeze(x);
    const struct {
        const void *weights;
        void *cache;
        size_t pos, n;
        const float *x;
        void *scratch;
        const struct pool *pool;
        int status;
    } bad[] = {{NULL, cache, 0, two, x, scratch, NULL, ERROR_NULL},
               {packed, NULL, 0, two, x, scratch, NULL, ERROR_NULL},
               {packed, cache, 0, two, NULL, scratch, NULL, ERROR_NULL},
               {packed, cache, 0, two, x, NULL, NULL, ERROR_NULL},
               {(const char *)packed + 4, cache, 0, two, x, scratch, NULL, ERROR_ALIGN},
               {packed, cache + 4, 0, two, x, scratch, NULL, ERROR_ALIGN},
               {packed, cache, 0, two, x, scratch + 4, NULL, ERROR_ALIGN},
               {packed, cache, 3, 1, x, scratch, NULL, ERROR_RANGE},
               {packed, cache, 0, keys + 1, x, scratch, NULL, ERROR_RANGE},
               {packed, cache, 2, SIZE_MAX - 1, x, scratch, NULL, ERROR_RANGE},
               {packed, cache, SIZE_MAX, 1, x, scratch, NULL, ERROR_RANGE},
               {packed, cache, 0, two, x, scratch, &none, ERROR_RANGE},
               {other, cache, 0, two, x, scratch, NULL, ERROR_WEIGHTS}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int got = kernel->source(bad[i].weights, bad[i].cache, bad[i].pos, bad[i].n, bad[i].x,
                                       bad[i].scratch, bad[i].pool);
        cr_assert_eq(got, bad[i].status, "%s: row %zu gives %d", label(kernel), i, got);
    }
    cr_assert_eq(kernel->source(packed, cache, 1, 0, x, scratch, NULL), OK);
}

/* A source of no position gives what the layer makes of zeros; a NaN in one of them reaches every
 * row that sees it. */
EACH(target, cross, source_of_nothing, has_source) {
    const struct kernel *kernel = selected(target);
    const struct weights weights = random_weights(kernel, 4);
    const void *packed = pack(kernel, &weights);
    const size_t n = longest(kernel) < 5 ? longest(kernel) : 5, rows = n < 3 ? n : 3;
    struct problem problem = layer_problem(kernel, n, rows, &weights, packed);
    const size_t size = layer_size(&problem, rows);
    float *y = make(size, sizeof *y);
    void *cache = guard_new(kernel->cache_bytes, AT_END);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    cr_assert_eq(kernel->cache_reset(cache), OK);
    cr_assert_eq(
        kernel->layer(packed, cache, 0, rows, problem.x, &problem.extras, y, scratch, NULL), OK);
    for (size_t i = 0; i < size; i++)
        cr_assert_eq(y[i], weights.bo ? weights.bo[i % kernel->d_model] : 0.0F);
    problem.source[n / 2 * kernel->source_width] = NAN;
    run_layer(&problem, &CACHED, y);
    for (size_t row = 0; row < rows; row++) {
        const struct view view = view_of(&problem, row, n);
        bool seen = false;
        for (size_t head = 0; head < kernel->heads; head++)
            seen = seen || view_sees(&view, head, n / 2);
        for (size_t i = row * kernel->d_model; i < (row + 1) * kernel->d_model; i++)
            cr_assert_eq(isnan(y[i]) != 0, seen, "%s: [%zu] is %g", label(kernel), i, (double)y[i]);
    }
}
