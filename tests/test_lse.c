/* The log-sum-exp of each row, and results over parts of the keys made one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "problem.h"
#include "suite.h"

static bool has_lse(const struct kernel *kernel) { return kernel->lse; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static float *sums_of(const struct problem *problem, size_t rows) {
    return make(rows * problem->kernel->heads, sizeof(float));
}

/* The definition's bits, in every way. */
EACH(target, lse, bits, has_lse) {
    const struct kernel *kernel = selected(target);
    struct budget budget = FULL;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i], each = attention_work(kernel, n, 1);
        const size_t rows = some_rows(kernel, n, each, 20);
        if (!spend(&budget, rows * each) && i)
            continue;
        struct problem problem = attention_problem(kernel, n, rows, (enum kind)(i % KINDS));
        struct problem expected = problem;
        const size_t size = attention_size(&problem, rows), sums = rows * kernel->heads;
        const size_t checked = attention_size(&problem, problem.checked);
        const size_t checked_sums = problem.checked * kernel->heads;
        float *out = make(size, sizeof *out), *want = make(checked, sizeof *want);
        problem.extras.lse = sums_of(&problem, rows);
        expected.extras.lse = sums_of(&problem, problem.checked);
        attention_bits(&expected, want);
        bool any = i > 0;
        for (const struct way *way = ways; way < ways + way_count; way++) {
            if (!is_turn(way, i) || !attention_fits(&problem, way) ||
                (!spend(&budget, cost(kernel, rows * each)) && any))
                continue;
            attend(&problem, way, out);
            expect_same(kernel, way->name, n, out + size - checked, want, checked);
            expect_same(kernel, "lse", n, problem.extras.lse + sums - checked_sums,
                        expected.extras.lse, checked_sums);
            any = true;
        }
    }
}

EACH(target, lse, reference, has_lse) {
    const struct kernel *kernel = selected(target);
    const size_t sizes[] = {1, 40, longest(kernel)};
    struct budget budget = FULL;
    for (size_t i = 0; i < 3; i++)
        for (enum kind kind = EVEN; kind < KINDS; kind++) {
            const size_t n = smaller(sizes[i], longest(kernel)), rows = smaller(n, 5);
            if (!spend(&budget, 2 * attention_work(kernel, n, rows)) && i)
                return;
            struct problem problem = attention_problem(kernel, n, rows, kind);
            const size_t size = attention_size(&problem, rows), sums = rows * kernel->heads;
            float *out = make(size, sizeof *out);
            struct bounded *want = make(size, sizeof *want), *lse = make(sums, sizeof *lse);
            problem.extras.lse = sums_of(&problem, rows);
            attention_reference(&problem, NULL, want, lse);
            attend(&problem, &CACHED, out);
            expect_bounded(kernel, "lse", n, problem.extras.lse, lse, sums);
        }
}

/* A NaN in q or k reaches the sums of the rows that see it, one in v none. */
EACH(target, lse, bad_numbers, has_lse) {
    const struct kernel *kernel = selected(target);
    const size_t n = smaller(longest(kernel), 600), rows = smaller(n, 9), bad = n - 1 - rows / 2;
    struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
    float *clean = sums_of(&problem, rows), *sums = sums_of(&problem, rows);
    float *out = make(attention_size(&problem, rows), sizeof *out);
    problem.extras.lse = clean;
    attend(&problem, &CACHED, out);
    problem.extras.lse = sums;
    problem.v[bad * kernel->kv_heads * kernel->v_head_dim] = NAN;
    attend(&problem, &CACHED, out);
    expect_same(kernel, "NaN in v", n, sums, clean, rows * kernel->heads);
    problem.k[bad * kernel->kv_heads * kernel->head_dim] = NAN; /* KV head 0 */
    attend(&problem, &CACHED, out);
    for (size_t i = 0; i < rows * kernel->heads; i++) {
        const size_t row = i / kernel->heads, head = i % kernel->heads;
        const struct view view = view_at(kernel, (ptrdiff_t)(n - rows + row), n);
        const bool seen =
            head < kernel->heads / kernel->kv_heads && bad >= view.first && bad < view.end;
        cr_assert(seen ? isnan(sums[i]) : same_float(sums[i], clean[i]),
                  "%s: row %zu, head %zu: %g", label(kernel), row, head, (double)sums[i]);
    }
}

/* Queries past the keys held, near and as far as there are positions, with no key at all too. */
EACH(target, lse, past_the_keys, has_lse) {
    enum { ROWS = 5 };
    const size_t POSITIONS = 1 << 24;
    const struct kernel *kernel = selected(target);
    const size_t held = smaller(longest(kernel), 37), rows = smaller(held, ROWS);
    struct problem problem = unmasked_problem(kernel, held, rows, EVEN);
    const size_t far[] = {held - smaller(held, 2), held + 1, held + kernel->window, held + 600,
                          POSITIONS - rows};
    void *cache = guard_new(kernel->cache_bytes, AT_END);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    const size_t q_size = rows * kernel->heads * kernel->head_dim;
    float *q = make(q_size, sizeof *q);
    fill_mixed(q, q_size, 3, 1);
    const size_t size = attention_size(&problem, rows), sums = rows * kernel->heads;
    float *out = guard_new(size * sizeof *out, AT_END);
    float *lse = guard_new(sums * sizeof *lse, AT_END);
    float *want = make(size, sizeof *want), *want_lse = make(sums, sizeof *want_lse);
    cr_assert_eq(kernel->cache_reset(cache), OK);
    for (size_t n = 0; n <= held; n += held) {
        for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
            struct view views[ROWS];
            struct extras extras = problem.extras;
            memset(scratch, 0xff, kernel->cache_scratch_bytes(0));
            memset(out, 0xff, size * sizeof *out);
            for (size_t row = 0; row < rows; row++)
                views[row] = view_at(kernel, (ptrdiff_t)(far[i] + row), n);
            extras.lse = want_lse;
            definition_attention(kernel, q, problem.k, problem.v, rows, &extras, views, want);
            extras.lse = lse;
            cr_assert_eq(
                kernel->cache_attention(cache, far[i], rows, q, &extras, out, scratch, NULL), OK,
                "%s: at %zu of %zu", label(kernel), far[i], n);
            expect_same(kernel, "past the keys", far[i], out, want, size);
            expect_same(kernel, "past the keys, lse", far[i], lse, want_lse, sums);
        }
        if (!n)
            cr_assert_eq(kernel->cache_append(cache, 0, held, problem.k, problem.v), OK);
    }
    if (kernel->cross)
        return; /* queries stand nowhere */
    cr_assert_eq(kernel->cache_attention(cache, POSITIONS - rows + 1, rows, q, &problem.extras, out,
                                         scratch, NULL),
                 ERROR_RANGE);
}

/* ---- merging ---- */

/* Results and sums that stand for something: sums near and far apart, none, not a number. */
static void some_results(const struct kernel *kernel, size_t n, uint32_t seed, float *out,
                         float *lse) {
    static const float values[] = {-INFINITY, 0, 3, -90, 88, NAN, 1e30F, -1e30F, INFINITY};
    enum { VALUES = sizeof values / sizeof *values };
    fill_mixed(out, n * kernel->heads * kernel->v_head_dim, seed, 2);
    fill_mixed(lse, n * kernel->heads, seed + 1, 8);
    for (size_t i = 0; i < n * kernel->heads; i += 3) {
        lse[i] = values[(i / 3 + seed * (i / 3 / VALUES)) % VALUES];
        if (lse[i] == -INFINITY) /* a row without keys */
            memset(out + i * kernel->v_head_dim, 0, kernel->v_head_dim * sizeof *out);
    }
}

EACH(target, lse, merge, has_lse) {
    enum { N = 61 };
    const struct kernel *kernel = selected(target);
    const size_t size = N * kernel->heads * kernel->v_head_dim, sums = N * kernel->heads;
    float *a[2], *b[2], *want[2]; /* results, sums */
    const size_t sizes[] = {size, sums};
    for (size_t i = 0; i < 2; i++) {
        a[i] = guard_new(sizes[i] * sizeof(float), AT_END);
        b[i] = guard_new(sizes[i] * sizeof(float), AT_END);
        want[i] = make(sizes[i], sizeof(float));
    }
    for (int swapped = 0; swapped < 2; swapped++) {
        some_results(kernel, N, swapped ? 6 : 5, a[0], a[1]);
        some_results(kernel, N, swapped ? 5 : 6, b[0], b[1]);
        float *before[2] = {want[0], want[1]};
        if (!swapped) { /* the second time, the other way round must come to the same */
            memcpy(before[0], a[0], size * sizeof(float));
            memcpy(before[1], a[1], sums * sizeof(float));
            definition_merge(kernel, want[0], want[1], b[0], b[1], N);
        }
        guard_freeze(b[0]);
        guard_freeze(b[1]);
        cr_assert_eq(kernel->merge(a[0], a[1], b[0], b[1], N), OK);
        guard_thaw(b[0]);
        guard_thaw(b[1]);
        expect_same(kernel, swapped ? "merge, swapped" : "merge", N, a[0], want[0], size);
        expect_same(kernel, swapped ? "merged sums, swapped" : "merged sums", N, a[1], want[1],
                    sums);
    }
    for (size_t i = 0; i < 2; i++) {
        guard_freeze(a[i]);
        guard_freeze(b[i]);
    }
    cr_assert_eq(kernel->merge(NULL, a[1], b[0], b[1], N), ERROR_NULL);
    cr_assert_eq(kernel->merge(a[0], NULL, b[0], b[1], N), ERROR_NULL);
    cr_assert_eq(kernel->merge(a[0], a[1], NULL, b[1], N), ERROR_NULL);
    cr_assert_eq(kernel->merge(a[0], a[1], b[0], NULL, N), ERROR_NULL);
    cr_assert_eq(kernel->merge(a[0], a[1], b[0], b[1], SIZE_MAX), ERROR_RANGE);
    cr_assert_eq(kernel->merge(a[0], a[1], b[0], b[1], 0), OK);
}

/* A context in so many parts, each in a cache of its own with the sinks in the first, gives what
 * one cache does, within the bound of both and what merging adds: a weight of at most 1 is off by a
 * few roundings, and values are at most 1. */
static void split(const struct kernel *kernel, size_t n, size_t parts) {
    const size_t last = n - n * (parts - 1) / parts; /* no query stands before the last part */
    const size_t rows = smaller(last, 5), k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    const struct problem problem = unmasked_problem(kernel, n, rows, EVEN);
    const size_t size = attention_size(&problem, rows), sums = rows * kernel->heads;
    float *out[2], *lse[2], *none = make(kernel->heads, sizeof *none);
    struct bounded *want = make(size, sizeof *want), *want_lse = make(sums, sizeof *want_lse);
    void *scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    for (size_t i = 0; i < 2; i++) {
        out[i] = guard_new(size * sizeof(float), AT_END);
        lse[i] = guard_new(sums * sizeof(float), AT_END);
    }
    for (size_t i = 0; i < kernel->heads; i++)
        none[i] = -INFINITY;
    for (size_t part = 0; part < parts; part++) {
        const size_t first = n * part / parts, end = n * (part + 1) / parts, mark = guard_mark();
        void *cache = guard_new(kernel->cache_bytes, AT_END);
        struct extras extras = problem.extras;
        extras.lse = lse[part > 0];
        extras.sinks = part ? none : extras.sinks;
        cr_assert_eq(kernel->cache_reset(cache), OK);
        for (size_t i = first; i < end; i += smaller(kernel->chunk, end - i))
            cr_assert_eq(kernel->cache_append(cache, i - first, smaller(kernel->chunk, end - i),
                                              problem.k + i * k_width, problem.v + i * v_width),
                         OK);
        cr_assert_eq(kernel->cache_attention(cache, n - rows - first, rows, problem.q, &extras,
                                             out[part > 0], scratch, NULL),
                     OK);
        if (part)
            cr_assert_eq(kernel->merge(out[0], lse[0], out[1], lse[1], rows), OK);
        guard_release(mark);
    }
    attention_reference(&problem, NULL, want, want_lse);
    for (size_t i = 0; i < size; i++)
        want[i].squares = 2 * want[i].squares + 0x1p-48 * 16 * (double)(parts - 1);
    for (size_t i = 0; i < sums; i++)
        want_lse[i].squares = 2 * want_lse[i].squares +
                              0x1p-48 * 16 * (double)(parts - 1) * (1 + fabs(want_lse[i].value));
    expect_bounded(kernel, "in parts", n, out[0], want, size);
    expect_bounded(kernel, "in parts, lse", n, lse[0], want_lse, sums);
}

EACH(target, lse, parts, has_lse) {
    const struct kernel *kernel = selected(target);
    const size_t all[] = {17, 100, 600};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t parts = 1; parts <= 3; parts++)
            split(kernel, smaller(all[i], longest(kernel)), parts);
}
