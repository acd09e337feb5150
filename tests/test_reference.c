/* Every kernel on every instruction set against the reference, within its bound. */
#include "problem.h"
#include "suite.h"

/* The plainest way that can compute the problem. */
static const struct way *plain(bool direct) { return direct ? &DIRECT : &CACHED; }

EACH(target, reference, attention, NULL) {
    const struct kernel *kernel = selected(target);
    struct budget budget = FULL;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i];
        const size_t rows = some_rows(kernel, n, attention_work(kernel, n, 1), 1);
        for (enum kind kind = 0; kind < KINDS; kind++) {
            if (n > 65 && kind != i % KINDS)
                continue;
            /* the first problem whatever it takes */
            if (!spend(&budget, attention_work(kernel, n, rows)) && i + kind)
                continue;
            const struct problem problem = attention_problem(kernel, n, rows, kind);
            const size_t size = attention_size(&problem, rows);
            const size_t checked = attention_size(&problem, problem.checked);
            float *out = make(size, sizeof *out);
            bool known;
            struct bounded *want =
                expected(kernel, i * KINDS + kind, checked * sizeof *want, &known);
            attend(&problem, plain(attention_fits(&problem, &DIRECT)), out);
            if (!known)
                attention_reference(&problem, NULL, want, NULL);
            expect_bounded(kernel, "attention", n, out + size - checked, want, checked);
        }
    }
}

/* Slopes as published for some numbers of heads. */
Test(reference, alibi_slopes) {
    static const struct {
        size_t heads, head;
        double slope;
    } known[] = {{1, 0, 0.00390625},      {2, 0, 0.0625},
                 {2, 1, 0.00390625},      {6, 0, 0.25},
                 {6, 3, 0.00390625},      {6, 4, 0.5},
                 {6, 5, 0.125},           {8, 0, 0.5},
                 {8, 7, 0.00390625},      {12, 8, 0.7071067812},
                 {12, 11, 0.08838834765}, {40, 0, 0.8408964153},
                 {40, 31, 0.00390625},    {40, 32, 0.9170040432},
                 {40, 39, 0.2726269332}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct kernel kernel = {
            .heads = known[i].heads, .alibi_bias_max = 8, .alibi_scale = 1};
        const double slope = reference_slope(&kernel, known[i].head);
        cr_assert_float_eq(slope, known[i].slope, 1e-9, "%zu heads, head %zu: %.10g",
                           known[i].heads, known[i].head, slope);
    }
}

/* Buckets of T5's relative attention, 32 of them up to a distance of 128. */
Test(reference, relative_buckets) {
    static const struct {
        bool bidirectional;
        ptrdiff_t after; /* key - query */
        size_t bucket;
    } known[] = {
        {true, 0, 0},     {true, -1, 1},    {true, 1, 17},    {true, -7, 7},     {true, 7, 23},
        {true, -8, 8},    {true, -11, 8},   {true, -12, 9},   {true, -15, 9},    {true, -16, 10},
        {true, 22, 26},   {true, 23, 27},   {true, -32, 12},  {true, -45, 12},   {true, -46, 13},
        {true, -63, 13},  {true, -64, 14},  {true, -90, 14},  {true, -91, 15},   {true, -128, 15},
        {true, 5000, 31}, {false, 0, 0},    {false, 3, 0},    {false, -15, 15},  {false, -16, 16},
        {false, -18, 16}, {false, -19, 17}, {false, -64, 26}, {false, -127, 31}, {false, -128, 31}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct kernel kernel = {.relative_buckets = 32,
                                      .relative_max_distance = 128,
                                      .relative_bidirectional = known[i].bidirectional};
        cr_assert_eq(reference_bucket(&kernel, known[i].after), known[i].bucket, "key %td %s",
                     known[i].after, known[i].bidirectional ? "of two directions" : "of one");
    }
}

/* The layer, or the block, at the edges within the budget. */
static void near_reference(const struct kernel *kernel, bool whole) {
    struct budget budget = FULL;
    const struct weights weights = random_weights(kernel, 1);
    const struct block_weights block =
        whole ? random_block_weights(kernel, 1) : (struct block_weights){0};
    const void *packed = whole ? pack_block(kernel, &weights, &block) : pack(kernel, &weights);
    size_t (*const work)(const struct kernel *, size_t, size_t) = whole ? block_work : layer_work;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i], rows = some_rows(kernel, n, work(kernel, n, 1), 1);
        if (!spend(&budget, work(kernel, n, rows)) && i)
            continue;
        const struct problem problem =
            whole ? block_problem(kernel, n, rows, &weights, &block, packed)
                  : layer_problem(kernel, n, rows, &weights, packed);
        const size_t size = layer_size(&problem, rows);
        const size_t checked = layer_size(&problem, problem.checked);
        float *y = make(size, sizeof *y);
        bool known;
        struct bounded *want = expected(kernel, i, checked * sizeof *want, &known);
        run_layer(&problem, plain(layer_fits(&problem, &DIRECT)), y);
        if (!known)
            layer_reference(&problem, 0, want);
        expect_bounded(kernel, whole ? "block" : "layer", n, y + size - checked, want, checked);
    }
}

EACH(target, reference, layer, has_layer) { near_reference(selected(target), false); }
EACH(target, reference, block, has_block) { near_reference(selected(target), true); }
