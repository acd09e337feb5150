/* Ring caches: round and round, back and forth, and what they refuse because it is overwritten. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "problem.h"
#include "suite.h"

/* Positions of a layer that goes round more than once. */
static size_t long_way(const struct kernel *kernel) {
    return kernel->cache_positions + kernel->chunk + 1;
}

static bool has_ring_layer(const struct kernel *kernel) {
    return is_ring(kernel) && kernel->has_layer && kernel->capacity > long_way(kernel);
}

Test(ring, some_layer_goes_round) {
    size_t count = 0;
    for (size_t i = 0; i < kernel_count; i++)
        count += has_ring_layer(kernels[i]);
    cr_assert(count || !kernels_are_all, "no spec has a layer that goes round its ring");
}

/* A sequence in a cache, and what must be in it: which position was written last in each place. */
struct sequence {
    const struct kernel *kernel;
    struct problem problem; /* all positions; rewritten ones have their latest numbers */
    void *cache, *scratch;
    float *out, *want;
    size_t length, *last;
    uint32_t seed;
};

static size_t any(struct sequence *s, size_t below) {
    s->seed = s->seed * 1664525U + 1013904223U;
    return below ? (size_t)(s->seed >> 8) % below : 0;
}

static size_t k_width(const struct kernel *kernel) { return kernel->kv_heads * kernel->head_dim; }
static size_t v_width(const struct kernel *kernel) { return kernel->kv_heads * kernel->v_head_dim; }

static void begin(struct sequence *s, const struct kernel *kernel) {
    const size_t n = kernel->capacity;
    *s = (struct sequence){.kernel = kernel, .seed = 7};
    s->problem = unmasked_problem(kernel, n, n, EVEN);
    s->cache = guard_new(kernel->cache_bytes, AT_END);
    s->scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
    memset(s->cache, 0xff, kernel->cache_bytes);
    s->out = guard_new(attention_size(&s->problem, kernel->chunk) * sizeof(float), AT_END);
    s->want = make(attention_size(&s->problem, kernel->chunk), sizeof(float));
    s->last = make(kernel->cache_positions, sizeof *s->last);
    for (size_t i = 0; i < kernel->cache_positions; i++)
        s->last[i] = SIZE_MAX;
    cr_assert_eq(kernel->cache_reset(s->cache), OK);
}

/* Writes n positions, with new numbers, or NaNs. */
static void write(struct sequence *s, size_t pos, size_t n, bool nans) {
    const struct kernel *kernel = s->kernel;
    float *k = s->problem.k + pos * k_width(kernel), *v = s->problem.v + pos * v_width(kernel);
    const uint32_t seed = (uint32_t)any(s, SIZE_MAX);
    fill_mixed(k, n * k_width(kernel), seed, nans ? NAN : 1);
    fill_mixed(v, n * v_width(kernel), seed + 1, nans ? NAN : 1);
    take_values(kernel, n, k, v);
    cr_assert_eq(kernel->cache_append(s->cache, pos, n, k, v), OK, "%s: append %zu at %zu",
                 label(kernel), n, pos);
    s->length = pos + n;
    for (size_t i = pos; i < pos + n; i++)
        s->last[i % kernel->cache_positions] = i;
}

/* Writes the positions first .. end - 1. */
static void write_all(struct sequence *s, size_t first, size_t end) {
    for (size_t n; first < end; first += n) {
        n = end - first < s->kernel->chunk ? end - first : s->kernel->chunk;
        write(s, first, n, false);
    }
}

/* Queries at pos .. pos + n - 1: right, or refused if and only if a key is missing. */
static void ask(struct sequence *s, size_t pos, size_t n) {
    const struct kernel *kernel = s->kernel;
    const float *q = s->problem.q + pos * kernel->heads * kernel->head_dim;
    const size_t size = attention_size(&s->problem, n);
    struct view *views = make(n, sizeof *views);
    bool held = true;
    for (size_t i = 0; i < n; i++) {
        views[i] = view_at(kernel, (ptrdiff_t)(pos + i), s->length);
        for (size_t j = views[i].first; j < views[i].end; j++)
            held = held && s->last[j % kernel->cache_positions] == j;
    }
    memset(s->out, 0x7f, size * sizeof(float));
    memset(s->want, 0x7f, size * sizeof(float));
    if (held)
        definition_attention(kernel, q, s->problem.k, s->problem.v, n, &s->problem.extras, views,
                             s->want);
    guard_freeze(s->cache);
    const int status =
        kernel->cache_attention(s->cache, pos, n, q, &s->problem.extras, s->out, s->scratch, NULL);
    guard_thaw(s->cache);
    cr_assert_eq(status, held ? OK : ERROR_RANGE, "%s: %zu queries at %zu of %zu give %d, keys %s",
                 label(kernel), n, pos, s->length, status, held ? "held" : "overwritten");
    expect_same(kernel, "ring", pos, s->out, s->want, size);
    free(views);
}

/* Appending and going back at random, far and near; the queries that come with what was written,
 * and some before them. */
EACH(target, ring, wander, is_ring) {
    const struct kernel *kernel = selected(target);
    struct sequence s;
    struct budget budget = FULL;
    begin(&s, kernel);
    const size_t row = attention_work(kernel, kernel->window + kernel->window_right, 1);
    while (spend(&budget, 40 * row)) {
        size_t pos = s.length;
        const size_t choice = any(&s, 10);
        if (choice == 0 || pos == kernel->capacity)
            pos = any(&s, s.length + 1);
        else if (choice < 3)
            pos -= any(&s, pos < kernel->chunk ? pos + 1 : kernel->chunk + 1);
        const size_t most =
            kernel->capacity - pos < kernel->chunk ? kernel->capacity - pos : kernel->chunk;
        const size_t some = choice % 2 ? most : 1 + any(&s, most < 40 ? most : 40);
        const size_t n = choice == 7 ? 1 : some;
        if (!most)
            continue;
        if (choice == 5) /* what is taken back must not be seen */
            write(&s, pos, most, true);
        write(&s, pos, n < most ? n : most, false);
        const size_t rows = s.length - pos < 20 ? s.length - pos : 20;
        ask(&s, pos, rows);
        ask(&s, s.length - rows, rows);
        ask(&s, any(&s, s.length), 1);
        /* the first one that finds all its keys, and the one before it */
        size_t first = 0;
        while (s.last[first % kernel->cache_positions] != first)
            first++;
        const size_t at = first + kernel->window - 1;
        if (at < s.length)
            ask(&s, at, 1);
        if (at && at - 1 < s.length)
            ask(&s, at - 1, 1);
    }
}

/* One call of the layer on all positions, far more than a chunk, has the bits of that without a
 * cache, which holds them all; so have the calls that go on from there. */
EACH(target, ring, layer, has_ring_layer) {
    const struct kernel *kernel = selected(target);
    const struct way again[] = {
        {.name = "cache", .cache = true, .garbage = 0xff},
        {.name = "cache, in place, 3 threads", .cache = true, .in_place = true, .threads = 3},
        {.name = "cache by 700", .cache = true, .chunk = 700},
        {.name = "cache by 61", .cache = true, .chunk = 61}};
    const struct weights weights = random_weights(kernel, 5);
    const void *packed = pack(kernel, &weights);
    const size_t n = long_way(kernel);
    struct budget budget = FULL;
    const size_t each = layer_work(kernel, kernel->window + kernel->window_right + 32, 1);
    const struct problem problem = layer_problem(kernel, n, n, &weights, packed);
    const size_t size = layer_size(&problem, n);
    float *want = make(size, sizeof *want), *y = make(size, sizeof *y);
    /* of a fixed length a call without a cache takes no less */
    run_layer(&problem, layer_fits(&problem, &DIRECT) ? &DIRECT : &again[0], want);
    for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
        if (again[i].chunk && (!kernel->causal || kernel->mla))
            continue; /* rows do not see later calls; of a latent they have a form by their call */
        if (!spend(&budget, cost(kernel, n * each)) && i)
            break;
        run_layer(&problem, &again[i], y);
        expect_same(kernel, again[i].name, n, y, want, size);
    }
}

/* A layer that would need an overwritten key is refused, and writes nothing; once the keys are
 * there again, it runs. */
EACH(target, ring, layer_too_far_back, has_ring_layer) {
    const struct kernel *kernel = selected(target);
    struct sequence s;
    begin(&s, kernel);
    const struct weights weights = random_weights(kernel, 5);
    const void *packed = pack(kernel, &weights);
    struct problem one = layer_problem(kernel, 1, 1, &weights, packed);
    one.extras = open_extras(kernel);
    float *y = guard_new(kernel->d_model * sizeof *y, AT_END);
    const size_t first = 3, around = kernel->window - 1; /* the first position held */
    write_all(&s, 0, kernel->cache_positions + first);
    const void *const frozen[] = {s.cache, s.scratch, y};
    for (size_t i = 0; i < 3; i++)
        guard_freeze(frozen[i]);
    cr_assert_eq(kernel->layer(packed, s.cache, first + around - 1, 1, one.x, &one.extras, y,
                               s.scratch, NULL),
                 ERROR_RANGE);
    for (size_t i = 0; i < 3; i++)
        guard_thaw(frozen[i]);
    cr_assert_eq(
        kernel->layer(packed, s.cache, first + around, 1, one.x, &one.extras, y, s.scratch, NULL),
        OK);
    write_all(&s, 0, around);
    cr_assert_eq(kernel->layer(packed, s.cache, around, 1, one.x, &one.extras, y, s.scratch, NULL),
                 OK);
}
