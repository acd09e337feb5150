/* Rotary positions, near and far, against sine and cosine in double. */
#include <math.h>
#include <string.h>

#include "problem.h"
#include "suite.h"

/* Positions worth a look, as far as filling a cache up to them is cheap. Ascending. */
enum { POSITIONS = 10 };
static size_t positions(const struct kernel *kernel, size_t list[POSITIONS]) {
    static const size_t all[] = {1, 2, 31, 511, 512, 15962};
    const size_t width = kernel->kv_heads * (kernel->head_dim + kernel->v_head_dim);
    const size_t work = attention_work(kernel, 1, kernel->head_dim);
    size_t most = kernel->capacity - 1, count = 0;
    while (most * width > 4U << 20 || most * work > 40U << 20)
        most /= 2;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] < most)
            list[count++] = all[i];
    if (most)
        list[count++] = most;
    return count;
}

/* k rotated, by the reference; in a sequence as key_in_cache makes it. */
static void rotated(const struct kernel *kernel, const float *k, size_t pos, float *to) {
    struct bounded *turned = make(kernel->head_dim, sizeof *turned);
    reference_load(k, kernel->head_dim, turned);
    reference_rope(kernel, turned, 1, pos, pos ? pos + 1 : 2);
    for (size_t d = 0; d < kernel->head_dim; d++)
        to[d] = (float)turned[d].value;
}

EACH(target, rope, keys, shows_turned_keys) {
    const struct kernel *kernel = selected(target);
    const size_t dim = kernel->head_dim;
    float *k = make(dim, sizeof *k), *want = make(dim, sizeof *want);
    double *got = make(kernel->kv_heads * dim, sizeof *got);
    size_t list[POSITIONS];
    const size_t count = positions(kernel, list);
    fill_mixed(k, dim, 7, 1);
    for (size_t i = 0; i < count; i++) {
        const size_t mark = guard_mark();
        rotated(kernel, k, list[i], want);
        key_in_cache(kernel, k, NULL, list[i], want, got);
        guard_release(mark);
        for (size_t j = 0; j < kernel->kv_heads * dim; j++) {
            const double off = fabs(got[j] - (double)want[j % dim]);
            cr_assert_leq(off, 1e-6, "%s: position %zu, channel %zu: off by %g", label(kernel),
                          list[i], j % dim, off);
        }
    }
}

/* Queries at far positions, against all but unreachable keys and a few near ones. */
EACH(target, rope, queries, has_bare_rope) {
    const struct kernel *kernel = selected(target);
    const size_t dim = kernel->head_dim, q_width = kernel->heads * dim;
    const size_t k_width = kernel->kv_heads * dim, near = 4;
    const struct weights weights = random_weights(kernel, 8);
    float *q = make(dim, sizeof *q), *turned = make(dim, sizeof *turned);
    fill_mixed(q, dim, 9, 1);
    memset((float *)weights.wq, 0, q_width * kernel->d_model * sizeof(float));
    if (weights.bq)
        memset((float *)weights.bq, 0, q_width * sizeof(float));
    for (size_t i = 0; i < q_width; i++) /* x begins with a 1 */
        *at(kernel, weights.wq, 0, kernel->d_model, i, q_width) = q[i % dim];
    const void *packed = pack(kernel, &weights);
    size_t list[POSITIONS];
    const size_t count = positions(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t pos = list[i];
        struct problem problem = layer_problem(kernel, pos + 1, 1, &weights, packed);
        double square = 0;
        rotated(kernel, q, pos, turned);
        for (size_t d = 0; d < dim; d++)
            square += (double)turned[d] * (double)turned[d];
        for (size_t j = 0; j + near < pos; j++) /* scores of -300 */
            for (size_t d = 0; d < k_width; d++)
                problem.k[j * k_width + d] =
                    (float)(-300 / (kernel->scale * square)) * turned[d % dim];
        problem.x[0] = 1;
        float *y = make(kernel->d_model, sizeof *y);
        bool known;
        struct bounded *want = expected(kernel, i, kernel->d_model * sizeof *want, &known);
        run_layer(&problem, &CACHED, y);
        if (!known)
            layer_reference(&problem, 0, want);
        expect_bounded(kernel, "rotated query", pos, y, want, kernel->d_model);
    }
}

/* A layer goes past the length at which the angles switch only in a cache that was begun for it,
 * and leaves another one as it is. */
EACH(target, rope, switch_of_length, switches) {
    const struct kernel *kernel = selected(target);
    const size_t original = kernel->scaling->original;
    const struct weights weights = random_weights(kernel, 11);
    const void *packed = pack(kernel, &weights);
    const struct problem problem =
        layer_problem(kernel, original + 1, original + 1, &weights, packed);
    const size_t width = kernel->d_model;
    unsigned char *cache = guard_new(kernel->cache_bytes, AT_END);
    unsigned char *before = make(kernel->cache_bytes, 1);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    float *y = make((original + 1) * width, sizeof *y);
    cr_assert_eq(kernel->cache_reset(cache), OK);
    cr_assert_eq(
        kernel->layer(packed, cache, 0, original, problem.x, &problem.extras, y, scratch, NULL),
        OK);
    memcpy(before, cache, kernel->cache_bytes);
    const float *next = problem.x + original * width;
    cr_assert_eq(kernel->layer(packed, cache, original, 1, next, &problem.extras, y, scratch, NULL),
                 ERROR_RANGE);
    cr_assert_eq(
        kernel->layer(packed, cache, 0, original + 1, problem.x, &problem.extras, y, scratch, NULL),
        ERROR_RANGE);
    cr_assert_eq(memcmp(before, cache, kernel->cache_bytes), 0, "%s: a refused call wrote",
                 label(kernel));
    cr_assert_eq(kernel->cache_reset_long(cache), OK);
    cr_assert_eq(
        kernel->layer(packed, cache, 0, original + 1, problem.x, &problem.extras, y, scratch, NULL),
        OK);
    cr_assert_eq(kernel->cache_reset_long(NULL), ERROR_NULL);
    cr_assert_eq(kernel->cache_reset_long(cache + 4), ERROR_ALIGN);
}

/* At position 0 nothing turns: the layer's cache is as good as one that got the key itself. */
EACH(target, rope, position_0, shows_turned_keys) {
    const struct kernel *kernel = selected(target);
    if (kernel->rope_offset || (kernel->scaling && kernel->scaling->attention_factor != 1))
        return; /* something does */
    float *k = make(kernel->head_dim, sizeof *k);
    double *got = make(kernel->kv_heads * kernel->head_dim, sizeof *got);
    if (kernel->capacity < 2)
        return;
    fill_mixed(k, kernel->head_dim, 10, 1);
    key_in_cache(kernel, k, NULL, 0, k, got);
    for (size_t i = 0; i < kernel->kv_heads * kernel->head_dim; i++)
        cr_assert_eq(got[i], (double)k[i % kernel->head_dim], "%s: channel %zu is %.9g, was %.9g",
                     label(kernel), i, got[i], (double)k[i % kernel->head_dim]);
}
