/* Counts the vector multiply-adds of whole calls, and compares with what the plan's tiles come to:
 * no more, no less. Linked with a kernel whose instruction sets count in fma_count, and compiled
 * with the plans (plans.c) beside it.
 *
 *     count ISA...
 *
 * Prints a line for each call that differs, and one for each instruction set; the exit status is 1
 * if a call differs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

unsigned long long fma_count;

typedef unsigned long long count;

enum { BLOCK = 512, KEY_TILE = 32, SUMS = 16, TILES = 64, MOST_ROWS = 256 };

/* What the plan says of one instruction set. */
struct plan {
    const char *isa;
    size_t lanes, query_rows, panel;
    size_t exp2; /* multiply-adds of one exp2 */
    size_t tiles;
    struct tile {
        size_t rows, wide, narrow; /* vectors of keys */
        bool decode_only;
    } tile[TILES]; /* rows fall */
};
static const struct plan plans[] = {
#include "plans.inc"
};
enum { PLANS = sizeof plans / sizeof *plans };

static struct plan plan; /* of the instruction set in use */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t up(size_t a, size_t step) { return (a + step - 1) / step * step; }

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "count: %s\n", what);
    exit(1);
}

static void *room(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes + 64))
        fail("out of memory");
    memset(memory, 0, bytes + 64);
    return memory;
}

static void take_plan(const char *isa) {
    for (size_t i = 0; i < PLANS; i++)
        if (strcmp(plans[i].isa, isa) == 0) {
            plan = plans[i];
            return;
        }
    fail("the manifest has no plan for an instruction set");
}

/* ---- what the tiles come to ---- */

/* The next tile of `rows` rows, of which `left` are left. */
static const struct tile *tile_for(size_t rows, size_t left) {
    for (size_t i = 0; i < plan.tiles; i++)
        if (plan.tile[i].decode_only && plan.tile[i].rows == rows)
            return &plan.tile[i];
    for (size_t i = 0; i < plan.tiles; i++)
        if (!plan.tile[i].decode_only && left >= plan.tile[i].rows)
            return &plan.tile[i];
    return &plan.tile[plan.tiles - 1];
}

/* Scores of one tile on one block, of which it sees `keys` keys; `alone`: no other tile reads it.
 */
static count score_fmas(const struct kernel *kernel, const struct tile *tile, size_t keys,
                        bool alone) {
    const size_t wide = tile->wide * plan.lanes;
    const size_t narrow = (wide > KEY_TILE ? tile->narrow : tile->wide) * plan.lanes;
    const size_t step = alone ? KEY_TILE : narrow;
    size_t j = 0;
    count sum = 0;
    if (wide > KEY_TILE && !alone)
        for (; j + wide - KEY_TILE < keys; j += wide)
            sum += (count)tile->rows * tile->wide * kernel->head_dim;
    for (; j < keys; j += step)
        sum += (count)tile->rows * (step / plan.lanes) * kernel->head_dim;
    return sum;
}

/* Softmax and values of one row, of a block of which it sees `keys` keys. */
static count row_fmas(const struct kernel *kernel, size_t keys) {
    return plan.exp2 * up(keys, SUMS) / plan.lanes + SUMS / plan.lanes +
           (count)keys * up(kernel->v_head_dim, SUMS) / plan.lanes;
}

/* n queries at pos, pos + n .. keys held; `held` of them. */
static count attention_fmas(const struct kernel *kernel, size_t pos, size_t n, size_t held) {
    const size_t group = kernel->heads / kernel->kv_heads, rows = n * group;
    count sum = 0;
    for (size_t first = 0; first < rows; first += plan.query_rows) {
        const size_t chunk = smaller(plan.query_rows, rows - first);
        for (size_t block = 0; block < held; block += BLOCK) {
            size_t limit[MOST_ROWS] = {0}, step;
            for (size_t r = 0; r < chunk; r++) {
                const size_t end = kernel->causal ? pos + (first + r) / group + 1 : held;
                limit[r] = smaller(end < block ? 0 : smaller(end, held) - block, BLOCK);
            }
            if (limit[chunk - 1] == 0)
                continue;
            for (size_t r = 0; r < chunk; r += step) {
                const struct tile *tile = tile_for(chunk, chunk - r);
                step = tile->rows;
                sum += score_fmas(kernel, tile, limit[r + step - 1], step == chunk);
            }
            for (size_t r = 0; r < chunk; r++)
                sum += row_fmas(kernel, limit[r]);
            sum += plan.exp2 * up(chunk, plan.lanes) / plan.lanes; /* decay */
        }
        sum += (count)chunk * (up(kernel->v_head_dim, plan.lanes) / plan.lanes); /* times 1 / sum */
    }
    return sum * kernel->kv_heads;
}

static count projection_fmas(size_t n, size_t inputs, size_t outputs) {
    return (count)n * inputs * up(outputs, plan.panel) / plan.lanes;
}

/* Of the norm of one row with so many heads. */
static count norm_fmas(const struct kernel *kernel, size_t heads) {
    const struct qk_norm *norm = kernel->qk_norm;
    if (!norm)
        return 0;
    const size_t width = kernel->head_dim * (norm->full ? heads : 1),
                 vectors = norm->full ? 1 : heads;
    return (count)vectors * up(width, SUMS) / plan.lanes * (norm->bias ? 2 : 1);
}

static count layer_fmas(const struct kernel *kernel, size_t pos, size_t n) {
    const size_t q = kernel->heads * kernel->head_dim, k = kernel->kv_heads * kernel->head_dim;
    const size_t v = kernel->kv_heads * kernel->v_head_dim;
    const size_t o = kernel->heads * kernel->v_head_dim, width = kernel->d_model;
    const size_t turned = up(kernel->rotary_dim / 2, plan.lanes) / plan.lanes;
    return projection_fmas(n, width, q) + projection_fmas(n, width, k) +
           projection_fmas(n, width, v) + projection_fmas(n, o, width) +
           (count)n * 2 * turned * (kernel->heads + kernel->kv_heads) +
           n * (norm_fmas(kernel, kernel->heads) + norm_fmas(kernel, kernel->kv_heads)) +
           attention_fmas(kernel, pos, n, pos + n);
}

/* ---- counting ---- */

static count total;

static bool compare(const struct kernel *kernel, const char *call, size_t pos, size_t n, int status,
                    count planned) {
    const bool same = status == OK && fma_count == planned;
    total += fma_count;
    if (!same)
        printf("%s %s %s at %zu, %zu rows: %llu multiply-adds, %llu planned\n", kernel->name,
               kernel->isa(), call, pos, n, fma_count, planned);
    return same;
}

static bool count_calls(const struct kernel *kernel) {
    static const struct {
        size_t pos, n;
    } calls[] = {{0, 1}, {0, 37}, {0, 150}, {699, 1}, {500, 30}, {1, 5}};
    const size_t most = kernel->exact ? kernel->capacity : 700;
    const size_t out_width = kernel->heads * kernel->v_head_dim;
    float *q = room(most * kernel->heads * kernel->head_dim * sizeof *q);
    float *k = room(most * kernel->kv_heads * kernel->head_dim * sizeof *k);
    float *v = room(most * kernel->kv_heads * kernel->v_head_dim * sizeof *v);
    float *x = room(most * kernel->d_model * sizeof *x);
    float *out = room(most * (out_width > kernel->d_model ? out_width : kernel->d_model) * 4);
    void *cache = room(kernel->cache_bytes), *scratch = room(kernel->scratch_bytes(0));
    void *weights = room(kernel->weights_bytes);
    bool good = true;
    const size_t all = kernel->exact ? most : 150;
    if (kernel->has_layer) {
        const size_t largest = (kernel->heads * kernel->head_dim + out_width) * kernel->d_model;
        float *zero = room(largest * sizeof *zero);
        const struct weights source = {zero, zero, zero, zero, zero, zero, zero,
                                       zero, zero, zero, zero, zero, zero};
        if (kernel->pack_weights(&source, weights) != OK)
            fail("the weights cannot be packed");
        free(zero);
    }
    static const float sinks[1024];
    static float relative_bias[1 << 22];
    const struct extras extras = {
        .sinks = sinks, .relative_bias = relative_bias, .end_key = SIZE_MAX};
    fma_count = 0;
    int status = kernel->attention(q, k, v, all, all, &extras, out, scratch, NULL);
    good = compare(kernel, "attention", 0, all, status, attention_fmas(kernel, 0, all, all));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const size_t pos = calls[i].pos, n = calls[i].n;
        if (pos + n > most)
            continue;
        if (kernel->cache_reset(cache) != OK || kernel->cache_append(cache, 0, pos + n, k, v) != OK)
            fail("the cache cannot be filled");
        fma_count = 0;
        status = kernel->cache_attention(cache, pos, n, q, &extras, out, scratch, NULL);
        good = compare(kernel, "cache_attention", pos, n, status,
                       attention_fmas(kernel, pos, n, pos + n)) &&
               good;
        if (!kernel->has_layer)
            continue;
        fma_count = 0;
        status = kernel->layer(weights, cache, pos, n, x, &extras, out, scratch, NULL);
        good = compare(kernel, "layer", pos, n, status, layer_fmas(kernel, pos, n)) && good;
    }
    void *memory[] = {q, k, v, x, out, cache, scratch, weights};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    return good;
}

int main(int argc, char **argv) {
    bool good = true;
    for (int i = 1; i < argc; i++) {
        if (kernels[0]->use_isa(argv[i]) != OK) {
            printf("skip count %s %s: this CPU does not run it\n", kernels[0]->name, argv[i]);
            continue;
        }
        take_plan(argv[i]);
        total = 0;
        const bool same = count_calls(kernels[0]);
        good = good && same;
        printf("%s %s %s: %llu vector multiply-adds%s\n", same ? "pass" : "FAIL", kernels[0]->name,
               argv[i], total, same ? ", as planned" : "");
    }
    return good ? 0 : 1;
}
