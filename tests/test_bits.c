/* The same bits on every instruction set, however the work is cut: all ways against the definition,
 * or, for a layer with rope, against the first instruction set that has its bits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "pool.h"
#include "problem.h"
#include "suite.h"

enum { LEAST_ROWS = 20 };   /* so that chunks are chunks */
enum { CHUNKS = 1U << 10 }; /* more than any */

EACH(target, bits, attention, NULL) {
    const struct kernel *kernel = selected(target);
    struct budget budget = FULL;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i], each = attention_work(kernel, n, 1);
        const size_t rows = some_rows(kernel, n, each, LEAST_ROWS);
        if (!spend(&budget, rows * each) && i)
            continue; /* for what is expected */
        const struct problem problem = attention_problem(kernel, n, rows, (enum kind)(i % KINDS));
        const size_t size = attention_size(&problem, rows);
        const size_t checked = attention_size(&problem, problem.checked);
        bool known;
        float *out = make(size, sizeof *out);
        float *want = expected(kernel, i, checked * sizeof *want, &known);
        if (!known)
            attention_bits(&problem, want);
        bool any = i > 0; /* the first n gets one way whatever it takes */
        for (const struct way *way = ways; way < ways + way_count; way++) {
            if (!is_turn(way, i) || !attention_fits(&problem, way) ||
                (!spend(&budget, cost(kernel, rows * each)) && any))
                continue;
            attend(&problem, way, out);
            expect_same(kernel, way->name, n, out + size - checked, want, checked);
            any = true;
        }
    }
}

static bool has_biases(const struct kernel *kernel) { return kernel->mask_bias; }

/* Biases of the least float, which models hide keys by: where a row has no others it sees those
 * keys alike, and nothing becomes NaN. */
EACH(target, bits, least_biases, has_biases) {
    const struct kernel *kernel = selected(target);
    const size_t n = longest(kernel) < 530 ? longest(kernel) : 530, rows = n < 12 ? n : 12;
    const struct problem problem = attention_problem(kernel, n, rows, EVEN);
    const size_t size = attention_size(&problem, rows), width = kernel->v_head_dim;
    float *bias = (float *)problem.extras.bias, *out = make(size, sizeof *out);
    float *want = make(size, sizeof *want);
    for (size_t i = 0; i < (kernel->mask_heads ? kernel->heads : 1) * rows * n; i++) {
        const size_t kind = i / n % rows % 4; /* all; what is not hidden; some; as they are */
        if (kind == 0 || (kind == 1 && bias[i] > -INFINITY) || (kind == 2 && i % 3 == 0))
            bias[i] = -FLT_MAX;
    }
    attention_bits(&problem, want);
    for (size_t row = 0; row < rows && !kernel->sinks; row += 4)
        for (size_t head = 0; head < kernel->heads; head++) {
            const struct view view = view_of(&problem, row, n);
            const size_t kv_head = head * kernel->kv_heads / kernel->heads;
            double sum = 0;
            size_t seen = 0;
            for (size_t j = 0; j < n; j++)
                if (view_sees(&view, head, j)) {
                    sum += problem.v[(j * kernel->kv_heads + kv_head) * width];
                    seen++;
                }
            const double mean = seen ? sum / (double)seen : 0;
            const float first = want[(row * kernel->heads + head) * width];
            cr_assert(fabs(first - mean) < 1e-5, "%s: row %zu: %g, not the mean %g", label(kernel),
                      row, (double)first, mean);
        }
    for (const struct way *way = ways; way < ways + way_count; way++)
        if (attention_fits(&problem, way)) {
            attend(&problem, way, out);
            expect_same(kernel, way->name, n, out, want, size);
        }
}

/* The bits of a layer's checked rows that every way with such chunks must give. */
static void expected_layer(const struct problem *problem, const struct target *target, size_t chunk,
                           float *want) {
    const struct kernel *kernel = problem->kernel;
    if (!kernel->rotary_dim) {
        layer_bits(problem, chunk, want);
        return;
    }
    const struct way way = {.name = "the first isa", .cache = true, .chunk = chunk};
    const size_t size = layer_size(problem, problem->rows);
    const size_t checked = layer_size(problem, problem->checked);
    float *y = make(size, sizeof *y);
    struct problem again = *problem;
    again.kernel = native(target->kernel, is_fused(kernel));
    cr_assert(again.kernel, "%s: no other instruction set has its bits", label(kernel));
    if (again.kernel != kernel && problem->whole)
        again.packed = pack_block(again.kernel, &problem->weights, &problem->block_weights);
    else if (again.kernel != kernel)
        again.packed = pack(again.kernel, &problem->weights);
    run_layer(&again, &way, y);
    selected(target);
    memcpy(want, y + size - checked, checked * sizeof *want);
}

static void same_bits(const struct target *target, bool whole) {
    const struct kernel *kernel = selected(target);
    const struct weights weights = random_weights(kernel, 2);
    const struct block_weights block =
        whole ? random_block_weights(kernel, 2) : (struct block_weights){0};
    const void *packed = whole ? pack_block(kernel, &weights, &block) : pack(kernel, &weights);
    size_t (*const work)(const struct kernel *, size_t, size_t) = whole ? block_work : layer_work;
    struct budget budget = FULL;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i], each = work(kernel, n, 1);
        const size_t rows = some_rows(kernel, n, each, LEAST_ROWS);
        if (!spend(&budget, rows * each) && i)
            continue; /* for what is expected */
        const struct problem problem =
            whole ? block_problem(kernel, n, rows, &weights, &block, packed)
                  : layer_problem(kernel, n, rows, &weights, packed);
        const size_t size = layer_size(&problem, rows);
        const size_t checked = layer_size(&problem, problem.checked);
        float *y = make(size, sizeof *y);
        bool any = i > 0;
        for (const struct way *way = ways; way < ways + way_count; way++) {
            if (!is_turn(way, i) || !layer_fits(&problem, way) ||
                (!spend(&budget, cost(kernel, rows * each)) && any))
                continue;
            /* with mla, the first rows of a prompt are of another form than all others */
            const bool alike = kernel->causal && !(kernel->mla && rows == n);
            const size_t needed = alike || way->chunk >= rows ? 0 : way->chunk;
            bool known;
            float *want = expected(kernel, i * CHUNKS + needed, checked * sizeof *want, &known);
            if (!known)
                expected_layer(&problem, target, needed, want);
            run_layer(&problem, way, y);
            expect_same(kernel, way->name, n, y + size - checked, want, checked);
            any = true;
        }
    }
}

EACH(target, bits, layer, has_layer) { same_bits(target, false); }
EACH(target, bits, block, has_block) { same_bits(target, true); }

/* Several threads at once, each with memory of its own. */
struct caller {
    const struct kernel *kernel;
    const struct problem *problem;
    float *out;
    void *scratch, *cache;
    int status;
};

static void call(void *callers, size_t index) {
    struct caller *own = (struct caller *)callers + index;
    const struct kernel *kernel = own->kernel;
    const struct problem *problem = own->problem + index;
    const size_t n = problem->n;
    for (int round = 0; round < 20 && own->status == OK; round++) {
        own->status = kernel->cache_reset(own->cache);
        if (own->status == OK)
            own->status = kernel->cache_append(own->cache, 0, n, problem->k, problem->v);
        if (own->status == OK)
            own->status =
                kernel->cache_attention(own->cache, n - problem->rows, problem->rows, problem->q,
                                        &problem->extras, own->out, own->scratch, NULL);
    }
}

EACH(target, bits, callers_at_once, NULL) {
    enum { CALLERS = 4 };
    const struct kernel *kernel = selected(target);
    const size_t n = longest(kernel) < 37 ? longest(kernel) : 37;
    struct problem problems[CALLERS];
    struct caller callers[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        problems[i] = attention_problem(kernel, n, n < 5 ? n : 5, (enum kind)(i % KINDS));
        callers[i] = (struct caller){.kernel = kernel, .problem = problems};
        callers[i].out = make(attention_size(&problems[i], problems[i].rows), sizeof(float));
        callers[i].scratch = guard_new(kernel->cache_scratch_bytes(0), AT_END);
        callers[i].cache = guard_new(kernel->cache_bytes, AT_END);
    }
    const struct pool pool = threads_pool(CALLERS);
    pool.run(pool.self, call, callers, CALLERS);
    for (size_t i = 0; i < CALLERS; i++) {
        const size_t size = attention_size(&problems[i], problems[i].rows);
        float *want = make(size, sizeof *want);
        attention_bits(&problems[i], want);
        cr_assert_eq(callers[i].status, OK, "%s: %d", label(kernel), callers[i].status);
        expect_same(kernel, "four callers at once", n, callers[i].out, want, size);
    }
}
