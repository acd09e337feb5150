#include "problem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "mla.h"
#include "pool.h"
#include "remote.h"

static uint32_t next(uint32_t *state) { return *state = *state * 1664525U + 1013904223U; }

static float in_range(uint32_t bits, float amplitude) {
    return ((float)(bits >> 8) - 0x1p23F) / 0x1p23F * amplitude;
}

void fill(float *to, size_t count, uint32_t seed, float amplitude) {
    for (size_t i = 0; i < count; i++)
        to[i] = in_range(next(&seed), amplitude);
}

void fill_mixed(float *to, size_t count, uint32_t seed, float amplitude) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = next(&seed);
        bits = (bits ^ bits >> 16) * 0x7feb352dU;
        bits = (bits ^ bits >> 15) * 0x846ca68bU;
        to[i] = in_range(bits ^ bits >> 16, amplitude);
    }
}

void *make(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    cr_assert(memory, "out of memory");
    return memory;
}

static float *filled(size_t count, uint32_t seed, float amplitude) {
    float *made = make(count, sizeof *made);
    fill_mixed(made, count, seed, amplitude);
    return made;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* ---- sizes ---- */

/* Floats of a position in k and v together. */
static size_t kv_width(const struct kernel *kernel) {
    return kernel->kv_heads * (kernel->head_dim + kernel->v_head_dim);
}

size_t key_capacity(const struct kernel *kernel) {
    return kernel->cross ? kernel->cache_positions : kernel->capacity;
}

size_t longest(const struct kernel *kernel) {
    return smaller(kernel->capacity, key_capacity(kernel));
}

size_t edges(const struct kernel *kernel, size_t list[EDGES]) {
    static const size_t all[] = {17, 1,  65, 513, 1025, 33,  2,   15,
                                 16, 31, 32, 63,  64,   511, 512, 1024};
    const size_t most = smaller(key_capacity(kernel), (4U << 20) / kv_width(kernel));
    size_t count = 0;
    list[count++] = most;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] < most)
            list[count++] = all[i];
    return count;
}

size_t attention_work(const struct kernel *kernel, size_t n, size_t rows) {
    return rows * n * kernel->heads * (kernel->head_dim + kernel->v_head_dim);
}

size_t layer_work(const struct kernel *kernel, size_t n, size_t rows) {
    const size_t q_and_out = kernel->heads * (kernel->head_dim + kernel->v_head_dim);
    if (kernel->mla) /* the reference computes both forms, and k and v of all keys */
        return rows * kernel->parameters + n * mla_expansion(kernel) +
               2 * attention_work(kernel, n, rows);
    return rows * kernel->d_model * (q_and_out + kv_width(kernel)) +
           n * kernel->source_width * kv_width(kernel) + attention_work(kernel, n, rows);
}

size_t block_work(const struct kernel *kernel, size_t n, size_t rows) {
    const size_t matrices = kernel->block->gated ? 3 : 2;
    return layer_work(kernel, n, rows) + rows * kernel->d_model * matrices * kernel->block->ffn;
}

/* How many times less the tests compute: emulated kernels are so many times slower. */
static size_t slowness(void) { return (foreign_count ? 16 : 1) * work_divisor; }

size_t some_rows(const struct kernel *kernel, size_t n, size_t each, size_t least) {
    if (kernel->exact && n == kernel->capacity)
        return n;
    const size_t slow = slowness();
    const size_t cheap = (4U << 20) / slow / each;
    const size_t bearable = smaller(least, (48U << 20) / slow / each);
    const size_t rows = cheap > bearable ? cheap : bearable;
    return smaller(smaller(n, kernel->capacity), rows > 1 ? rows : smaller(least, 2));
}

const struct budget FULL = {48U << 20};

size_t cost(const struct kernel *kernel, size_t work) {
    if (strncmp(kernel->isa(), "scalar", strlen("scalar")) == 0)
        return work;
    return foreign_count ? work / 4 : work / 16; /* emulators gain less from vectors */
}

bool spend(struct budget *budget, size_t work) {
    if (work > budget->left / slowness())
        return false;
    budget->left -= work * slowness();
    return true;
}

size_t attention_size(const struct problem *problem, size_t rows) {
    return rows * problem->kernel->heads * problem->kernel->v_head_dim;
}

size_t layer_size(const struct problem *problem, size_t rows) {
    return rows * problem->kernel->d_model;
}

/* ---- inputs ---- */

/* Rows to make expected values for, of those to compute: an exact kernel may have to do more. */
static size_t checkable(const struct kernel *kernel, size_t rows, size_t each) {
    const size_t most = (16U << 20) / each;
    return kernel->exact && rows == kernel->capacity ? smaller(rows, most ? most : 1) : rows;
}

/* Whether a mask of `n` keys hides key j from a row: rows that see all, none, some at random, keys
 * from the middle on, every other 32; keys that no row sees, or a whole block of them. */
static bool hides(size_t n, size_t row, size_t head, size_t j) {
    uint32_t bits = (uint32_t)(row * 7919 + head * 104729 + j * 31 + n);
    bits = (bits ^ bits >> 16) * 0x7feb352dU;
    bits = (bits ^ bits >> 15) * 0x846ca68bU;
    if ((n > 128 && j >= n / 3 && j < n / 3 + 40) || (n > 600 && n % 2 && j < 512))
        return true;
    switch ((n + row + head) % 7) {
    case 0:
        return j < n / 2;
    case 1:
        return bits >> 31;
    case 2:
        return j / 32 % 2 == row % 2;
    case 3:
        return bits >> 27 == 0;
    case 4:
        return true;
    default:
        return false;
    }
}

/* A mask or biases of all sorts for `rows` rows of `n` keys, as the kernel takes them. */
static void add_mask(struct extras *extras, const struct kernel *kernel, size_t n, size_t rows) {
    const size_t heads = kernel->mask_heads ? kernel->heads : 1, size = rows * n;
    unsigned char *mask = make(size, 1);
    float *bias = kernel->mask_bias ? filled(heads * size, (uint32_t)n + 4, 3) : NULL;
    for (size_t head = 0; head < heads; head++)
        for (size_t i = 0; i < size; i++) {
            const bool hidden = hides(n, i / n, head, i % n);
            mask[i] = hidden ? 0 : (unsigned char)(1U << i % 8);
            if (hidden && bias)
                bias[head * size + i] = -INFINITY;
        }
    if (bias) {
        extras->bias = bias;
        extras->bias_stride = n;
        extras->bias_head_stride = size;
        free(mask);
    } else {
        extras->mask = mask;
        extras->mask_stride = n;
    }
}

/* Relative biases as the kernel takes them; NULL where it has none. */
static float *random_biases(const struct kernel *kernel) {
    const size_t size = kernel->relative_buckets * kernel->heads;
    return size ? filled(size, 37, 2) : NULL;
}

struct extras open_extras(const struct kernel *kernel) {
    return (struct extras){
        .sinks = random_sinks(kernel), .relative_bias = random_biases(kernel), .end_key = SIZE_MAX};
}

/* All rows but the first lack the last keys, all the first ones; short ones lack none. */
static void add_range(struct extras *extras, size_t n) {
    extras->first_key = n % 3 == 1 ? 0 : n / 5;
    extras->end_key = n % 4 == 3 ? SIZE_MAX : n - n / 9;
}

void take_values(const struct kernel *kernel, size_t n, const float *k, float *v) {
    for (size_t i = 0; i < n && kernel->mla; i++)
        memcpy(v + i * kernel->v_head_dim, k + i * kernel->head_dim,
               kernel->v_head_dim * sizeof *v);
}

struct problem unmasked_problem(const struct kernel *kernel, size_t n, size_t rows,
                                enum kind kind) {
    static const struct {
        float q, k, v;
    } amplitudes[KINDS] = {{1, 1, 1}, {100, 1, 1}, {1, 1, 1}, {1e-41F, 1e-41F, 1e-38F}};
    const size_t q_size = rows * kernel->heads * kernel->head_dim;
    const size_t k_size = n * kernel->kv_heads * kernel->head_dim;
    struct problem made = {.kernel = kernel, .n = n, .rows = rows};
    made.checked = checkable(kernel, rows, attention_work(kernel, n, 1));
    made.q = filled(q_size, (uint32_t)n + 1, amplitudes[kind].q);
    made.k = filled(k_size, (uint32_t)n + 2, amplitudes[kind].k);
    made.v = filled(n * kernel->kv_heads * kernel->v_head_dim, (uint32_t)n + 3, amplitudes[kind].v);
    made.extras = open_extras(kernel);
    if (kind == RISING) { /* scores from -20 to 20 along the keys */
        for (size_t i = 0; i < q_size; i += kernel->head_dim)
            made.q[i] = (float)(4 / kernel->scale);
        for (size_t i = 0; i < k_size; i += kernel->head_dim)
            made.k[i] = 10.0F * (float)i / (float)k_size - 5.0F;
    }
    take_values(kernel, n, made.k, made.v);
    return made;
}

struct problem attention_problem(const struct kernel *kernel, size_t n, size_t rows,
                                 enum kind kind) {
    struct problem made = unmasked_problem(kernel, n, rows, kind);
    if (kernel->masked)
        add_mask(&made.extras, kernel, n, rows);
    if (kernel->key_range)
        add_range(&made.extras, n);
    return made;
}

size_t norm_size(const struct kernel *kernel, size_t heads) {
    const struct qk_norm *norm = kernel->qk_norm;
    return !norm ? 0 : kernel->head_dim * (norm->full || norm->per_head ? heads : 1);
}

float *random_sinks(const struct kernel *kernel) {
    float *made = kernel->sinks ? make(kernel->heads, sizeof *made) : NULL;
    if (made)
        fill_mixed(made, kernel->heads, 31, 4);
    return made;
}

void weight_sizes(const struct kernel *kernel, struct array_size sizes[ARRAYS]) {
    const size_t inputs = kernel->d_model;
    const size_t source = kernel->cross ? kernel->source_width : inputs,
                 q = kernel->heads * kernel->head_dim;
    const size_t k = kernel->kv_heads * kernel->head_dim;
    const size_t v = kernel->kv_heads * kernel->v_head_dim;
    const size_t mixed = kernel->heads * kernel->v_head_dim;
    const size_t q_norm = norm_size(kernel, kernel->heads);
    const size_t k_norm = norm_size(kernel, kernel->kv_heads);
    const bool norm_bias = kernel->qk_norm && kernel->qk_norm->bias;
    const struct array_size all[ARRAYS] = {{q * inputs, inputs},
                                           {k * source, source},
                                           {v * source, source},
                                           {mixed * inputs, mixed},
                                           {kernel->qkv_bias ? q : 0, 3},
                                           {kernel->qkv_bias ? k : 0, 3},
                                           {kernel->qkv_bias ? v : 0, 3},
                                           {kernel->o_bias ? inputs : 0, 3},
                                           {q_norm, 1},
                                           {k_norm, 1},
                                           {norm_bias ? q_norm : 0, 3},
                                           {norm_bias ? k_norm : 0, 3},
                                           {kernel->sinks ? kernel->heads : 0, 1},
                                           {0, 1},
                                           {kernel->relative_buckets * kernel->heads, 1}};
    if (kernel->mla)
        mla_weight_sizes(kernel, sizes);
    else
        memcpy(sizes, all, sizeof all);
}

struct weights zero_weights(const struct kernel *kernel) {
    struct weights made = {0};
    struct array_size sizes[ARRAYS];
    weight_sizes(kernel, sizes);
    for (size_t i = 0; i < ARRAYS; i++)
        if (sizes[i].count)
            ((const float **)&made)[i] = make(sizes[i].count, sizeof(float));
    free((float *)made.sinks);
    made.sinks = random_sinks(kernel);
    return made;
}

struct weights random_weights(const struct kernel *kernel, uint32_t seed) {
    static const struct kernel *last;
    static uint32_t last_seed;
    static struct weights made;
    struct array_size sizes[ARRAYS];
    if (last && last == kernel && last_seed == seed)
        return made;
    made = zero_weights(kernel);
    weight_sizes(kernel, sizes);
    for (size_t i = 0; i < ARRAYS; i++) {
        float *const array = ((float *const *)&made)[i];
        if (array && array != made.sinks)
            fill_mixed(array, sizes[i].count, seed + (uint32_t)i,
                       sqrtf(3.0F / (float)sizes[i].inputs));
    }
    last = kernel;
    last_seed = seed;
    return made;
}

float *at(const struct kernel *kernel, const float *matrix, size_t input, size_t inputs,
          size_t output, size_t outputs) {
    const size_t index =
        kernel->weights_in_out ? input * outputs + output : output * inputs + input;
    return (float *)matrix + index; /* `weights` points to const for the kernel's sake */
}

void *pack(const struct kernel *kernel, const struct weights *weights) {
    void *packed = guard_new(kernel->weights_bytes, AT_END);
    cr_assert_eq(kernel->pack_weights(weights, packed), OK, "%s: pack_weights", kernel->name);
    guard_freeze(packed);
    return packed;
}

struct problem layer_problem(const struct kernel *kernel, size_t n, size_t rows,
                             const struct weights *weights, const void *packed) {
    struct problem made = {.kernel = kernel, .n = n, .rows = rows, .packed = packed};
    made.weights = *weights;
    made.extras = open_extras(kernel);
    made.extras.sinks = weights->sinks;
    made.extras.relative_bias = weights->relative_bias;
    if (kernel->masked)
        add_mask(&made.extras, kernel, n, rows);
    if (kernel->key_range)
        add_range(&made.extras, n);
    made.checked = checkable(kernel, rows, layer_work(kernel, n, 1));
    made.x = filled(rows * kernel->d_model, (uint32_t)n + 1, 1);
    made.source = filled(n * kernel->source_width, (uint32_t)n + 4, 1);
    made.k = filled((n - rows) * kernel->kv_heads * kernel->head_dim, (uint32_t)n + 2, 1);
    made.v = filled((n - rows) * kernel->kv_heads * kernel->v_head_dim, (uint32_t)n + 3, 1);
    return made;
}

void block_shapes(const struct kernel *kernel, size_t shapes[BLOCK_ARRAYS][2]) {
    const struct block *block = kernel->block;
    const size_t d = kernel->d_model, ffn = block->ffn;
    const bool norms[] = {block->attention_norm, block->attention_post_norm, block->ffn_norm,
                          block->ffn_post_norm};
    const bool scaled = block->layer_scale;
    const size_t others[][2] = {
        {d, block->gated ? ffn : 0}, {d, ffn},
        {ffn, ffn ? d : 0},          {0, block->gated && block->bias ? ffn : 0},
        {0, block->bias ? ffn : 0},  {0, block->bias ? d : 0},
        {0, scaled ? d : 0},         {0, scaled && ffn ? d : 0}};
    memset(shapes, 0, BLOCK_ARRAYS * sizeof *shapes);
    for (size_t i = 0; i < 8; i++)
        shapes[i][1] = norms[i / 2] && (i % 2 == 0 || block->norm_bias) ? d : 0;
    memcpy(shapes + 8, others, sizeof others);
}

struct block_weights random_block_weights(const struct kernel *kernel, uint32_t seed) {
    struct block_weights made = {0};
    const float **const all = (const float **)&made;
    size_t shapes[BLOCK_ARRAYS][2];
    block_shapes(kernel, shapes);
    for (size_t i = 0; i < BLOCK_ARRAYS; i++) {
        const size_t inputs = shapes[i][0], count = (inputs ? inputs : 1) * shapes[i][1];
        if (!count)
            continue;
        float *array = make(count, sizeof *array);
        fill_mixed(array, count, seed + 100 + (uint32_t)i,
                   inputs                ? sqrtf(3.0F / (float)inputs)
                   : i < 8 && i % 2 == 0 ? 2
                                         : 1);
        all[i] = array;
    }
    return made;
}

void *pack_block(const struct kernel *kernel, const struct weights *weights,
                 const struct block_weights *block) {
    void *packed = guard_new(kernel->block->weights_bytes, AT_END);
    cr_assert_eq(kernel->pack_block_weights(weights, block, packed), OK, "%s: pack_block_weights",
                 kernel->name);
    guard_freeze(packed);
    return packed;
}

struct problem block_problem(const struct kernel *kernel, size_t n, size_t rows,
                             const struct weights *weights, const struct block_weights *block,
                             const void *packed) {
    struct problem made = layer_problem(kernel, n, rows, weights, packed);
    made.whole = true;
    made.block_weights = *block;
    made.checked = checkable(kernel, rows, block_work(kernel, n, 1));
    return made;
}

/* ---- ways ---- */

const struct way DIRECT = {.name = "direct"}, CACHED = {.name = "cache", .cache = true};

const struct way ways[] = {
    {.name = "direct"},
    {.name = "direct, 1 thread", .threads = 1},
    {.name = "direct, 2 threads", .threads = 2, .garbage = 0x7f},
    {.name = "direct, 3 threads", .threads = 3},
    {.name = "direct, 5 threads", .threads = 5, .garbage = 0xff},
    {.name = "direct, 7 tasks reversed", .threads = 7, .reversed = true},
    {.name = "direct, scratch of ff", .garbage = 0xff},
    {.name = "direct, scratch of 7f", .garbage = 0x7f, .place = AT_START},
    {.name = "direct, buffers off by 4", .place = SHIFTED},
    {.name = "direct, in place", .in_place = true},
    {.name = "direct, in place, 3 threads", .in_place = true, .threads = 3},
    {.name = "direct by 3", .chunk = 3},
    {.name = "direct by 17, 2 threads", .chunk = 17, .threads = 2},
    {.name = "cache", .cache = true},
    {.name = "cache by 1", .cache = true, .chunk = 1},
    {.name = "cache by 1, 7 threads", .cache = true, .chunk = 1, .threads = 7},
    {.name = "cache by 3, ff", .cache = true, .chunk = 3, .garbage = 0xff},
    {.name = "cache by 17, off by 4", .cache = true, .chunk = 17, .place = SHIFTED},
    {.name = "cache by 17, 7f, 5 tasks reversed",
     .cache = true,
     .chunk = 17,
     .garbage = 0x7f,
     .threads = 5,
     .reversed = true},
    {.name = "cache by 512, 3 threads", .cache = true, .chunk = 512, .threads = 3},
    {.name = "cache by 5, in place",
     .cache = true,
     .chunk = 5,
     .in_place = true,
     .place = AT_START},
};
const size_t way_count = sizeof ways / sizeof *ways;

bool is_turn(const struct way *way, size_t size) {
    return size < 2 || ((size_t)(way - ways) + size) % 3 == 0;
}

bool attention_fits(const struct problem *problem, const struct way *way) {
    const struct kernel *kernel = problem->kernel;
    if (way->in_place && kernel->head_dim != kernel->v_head_dim)
        return false;
    const bool all = problem->rows == kernel->capacity && !way->chunk;
    /* without a cache, the last query stands at the last key */
    if (!way->cache && way->chunk && knows_positions(kernel) && !kernel->causal)
        return false;
    return way->cache || !kernel->exact || all;
}

bool layer_fits(const struct problem *problem, const struct way *way) {
    const struct kernel *kernel = problem->kernel;
    if (way->cache || kernel->cross)
        return way->cache;
    return !way->chunk && problem->rows == problem->n &&
           (!kernel->exact || problem->n == kernel->capacity);
}

/* The pool of a way in *pool, or NULL. */
static const struct pool *own_pool(const struct way *way, struct pool *pool) {
    if (!way->threads)
        return NULL;
    *pool = way->reversed ? reversed_pool(way->threads) : threads_pool(way->threads);
    return pool;
}

static void *scratch(const struct problem *problem, const struct way *way) {
    const size_t bytes = way->cache ? problem->kernel->cache_scratch_bytes(way->threads)
                                    : problem->kernel->scratch_bytes(way->threads);
    void *memory = guard_new(bytes, way->place == SHIFTED ? AT_START : way->place);
    if (way->garbage)
        memset(memory, way->garbage, smaller(bytes, 64U << 20));
    return memory;
}

/* A copy that must not be written, unless `open`. */
static float *input(const struct way *way, const float *from, size_t count, bool open) {
    float *copy = guard_new(count * sizeof *copy, way->place);
    if (count)
        memcpy(copy, from, count * sizeof *copy);
    if (!open)
        guard_freeze(copy);
    return copy;
}

/* Where a call's result goes: NaNs, or the input itself. */
static float *output(const struct way *way, float *given, size_t count) {
    if (way->in_place)
        return given;
    float *made = guard_new(count * sizeof *made, way->place);
    memset(made, 0xff, count * sizeof *made);
    return made;
}

struct extras extras_from(const struct problem *problem, size_t row) {
    struct extras made = problem->extras;
    if (made.mask)
        made.mask += row * made.mask_stride;
    if (made.bias)
        made.bias += row * made.bias_stride;
    if (made.lse)
        made.lse += row * problem->kernel->heads;
    return made;
}

/* A copy of a matrix of bytes at a stride with some more between its rows, all bits set; nothing
 * follows its last row. */
static void *spread_rows(const struct way *way, const void *from, size_t from_stride, size_t rows,
                         size_t width, size_t stride) {
    unsigned char *made = guard_new((rows - 1) * stride + width, way->place);
    memset(made, 0xff, (rows - 1) * stride + width);
    for (size_t i = 0; i < rows; i++)
        memcpy(made + i * stride, (const char *)from + i * from_stride, width);
    guard_freeze(made);
    return made;
}

/* What a call for rows i .. end - 1, with so many keys, takes besides. */
static struct extras call_extras(const struct problem *problem, const struct way *way, size_t i,
                                 size_t end, size_t keys) {
    struct extras made = extras_from(problem, i);
    const size_t rows = end - i, stride = keys + (way->chunk ? 3 : 0), four = sizeof(float);
    if (made.mask) {
        made.mask = spread_rows(way, made.mask, made.mask_stride, rows, keys, stride);
        made.mask_stride = stride;
    }
    if (made.bias && !problem->kernel->mask_heads) {
        made.bias =
            spread_rows(way, made.bias, made.bias_stride * four, rows, keys * four, stride * four);
        made.bias_stride = stride;
    } else if (made.bias) {
        const size_t heads = problem->kernel->heads, head_stride = rows * stride + 1;
        float *all =
            guard_new(((heads - 1) * head_stride + (rows - 1) * stride + keys) * four, way->place);
        memset(all, 0xff, ((heads - 1) * head_stride + (rows - 1) * stride + keys) * four);
        for (size_t row = 0; row < heads * rows; row++)
            memcpy(all + row / rows * head_stride + row % rows * stride,
                   made.bias + row / rows * made.bias_head_stride + row % rows * made.bias_stride,
                   keys * four);
        guard_freeze(all);
        made.bias = all;
        made.bias_stride = stride;
        made.bias_head_stride = head_stride;
    }
    return made;
}

static void expect_ok(const struct problem *problem, const struct way *way, const char *call,
                      int status) {
    cr_assert_eq(status, OK, "%s %s n %zu, %s: %s gives %d", problem->kernel->name,
                 problem->kernel->isa(), problem->n, way->name, call, status);
}

/* Appends the keys of first..end-1, as many at a time as the cache takes. */
static void append(const struct problem *problem, const struct way *way, void *cache, size_t first,
                   size_t end) {
    const struct kernel *kernel = problem->kernel;
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    for (size_t n; first < end; first += n) {
        n = smaller(kernel->chunk, end - first);
        const size_t mark = guard_mark();
        const float *k = input(way, problem->k + first * k_width, n * k_width, false);
        const float *v = input(way, problem->v + first * v_width, n * v_width, false);
        expect_ok(problem, way, "append", kernel->cache_append(cache, first, n, k, v));
        guard_release(mark);
    }
}

int reset_for(const struct kernel *kernel, void *cache, size_t length) {
    return kernel->cache_reset_long && length > kernel->scaling->original
               ? kernel->cache_reset_long(cache)
               : kernel->cache_reset(cache);
}

static void *new_cache(const struct problem *problem, const struct way *way) {
    const struct kernel *kernel = problem->kernel;
    const size_t bytes = kernel->cache_bytes, margin = 4096,
                 heads = kernel->mla ? 1 : kernel->kv_heads;
    const size_t head = bytes / heads;
    char *cache = guard_new(bytes, way->place == SHIFTED ? AT_START : way->place);
    /* Each head's part as far as the keys come, and two blocks more: time. */
    const size_t filled = smaller(head / kernel->capacity * (problem->n + 1024) + margin, head);
    for (size_t i = 0; i < heads && way->garbage; i++) {
        const size_t first = i * head > margin ? i * head - margin : 0;
        memset(cache + first, way->garbage, smaller(filled + 2 * margin, bytes - first));
    }
    expect_ok(problem, way, "reset", reset_for(kernel, cache, problem->n));
    return cache;
}

void attend(const struct problem *problem, const struct way *way, float *out) {
    const struct kernel *kernel = problem->kernel;
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    const size_t q_width = kernel->heads * kernel->head_dim;
    const size_t out_width = kernel->heads * kernel->v_head_dim;
    const size_t before = problem->n - problem->rows;
    const size_t wanted = way->chunk ? way->chunk : problem->rows;
    const size_t chunk = way->cache ? smaller(wanted, kernel->chunk) : wanted;
    /* keys that must be there beside those of a call's own positions */
    const size_t ahead = kernel->causal    ? 0
                         : is_ring(kernel) ? kernel->window_right - 1
                                           : problem->rows;
    const size_t mark = guard_mark();
    struct pool pool;
    const struct pool *given = own_pool(way, &pool);
    void *scratch_memory = scratch(problem, way), *cache = NULL;
    size_t held = before;
    if (way->cache) {
        cache = new_cache(problem, way);
        for (size_t i = 0; i < before; i += 512)
            append(problem, way, cache, i, smaller(i + 512, before));
    }
    for (size_t i = 0; i < problem->rows; i += chunk) {
        const size_t end = smaller(i + chunk, problem->rows), inner = guard_mark();
        float *q = input(way, problem->q + i * q_width, (end - i) * q_width, way->in_place);
        float *result = output(way, q, (end - i) * out_width);
        const size_t sums = (end - i) * kernel->heads;
        const size_t keys = kernel->causal ? before + end : problem->n;
        struct extras extras = call_extras(problem, way, i, end, keys);
        float *const lse = problem->extras.lse;
        if (lse)
            extras.lse = guard_new(sums * sizeof *out, way->place);
        if (way->cache) {
            const size_t needed = smaller(problem->n, before + end + ahead);
            for (size_t step; held < needed; held += step) {
                step = smaller(chunk, needed - held);
                append(problem, way, cache, held, held + step);
            }
            expect_ok(problem, way, "cache_attention",
                      kernel->cache_attention(cache, before + i, end - i, q, &extras, result,
                                              scratch_memory, given));
        } else {
            const float *k = input(way, problem->k, keys * k_width, false);
            const float *v = input(way, problem->v, keys * v_width, false);
            expect_ok(
                problem, way, "attention",
                kernel->attention(q, k, v, end - i, keys, &extras, result, scratch_memory, given));
        }
        memcpy(out + i * out_width, result, (end - i) * out_width * sizeof *out);
        if (lse)
            memcpy(lse + i * kernel->heads, extras.lse, sums * sizeof *out);
        guard_release(inner);
    }
    guard_release(mark);
}

void run_layer(const struct problem *problem, const struct way *way, float *y) {
    const struct kernel *kernel = problem->kernel;
    const size_t width = kernel->d_model, before = problem->n - problem->rows;
    const size_t chunk = way->chunk ? way->chunk : problem->rows;
    const size_t mark = guard_mark();
    struct pool pool;
    const struct pool *given = own_pool(way, &pool);
    void *scratch_memory = scratch(problem, way), *cache = NULL;
    if (way->cache) {
        cache = new_cache(problem, way);
        if (!kernel->cross)
            append(problem, way, cache, 0, before);
    }
    for (size_t i = 0; i < problem->n && kernel->cross; i += chunk) {
        const size_t size = smaller(chunk, problem->n - i), inner = guard_mark();
        const float *x = input(way, problem->source + i * kernel->source_width,
                               size * kernel->source_width, false);
        expect_ok(problem, way, "source",
                  kernel->source(problem->packed, cache, i, size, x, scratch_memory, given));
        guard_release(inner);
    }
    for (size_t i = 0; i < problem->rows; i += chunk) {
        const size_t end = smaller(i + chunk, problem->rows), inner = guard_mark();
        float *x = input(way, problem->x + i * width, (end - i) * width, way->in_place);
        float *result = output(way, x, (end - i) * width);
        const struct extras extras =
            call_extras(problem, way, i, end, kernel->cross ? problem->n : before + end);
        expect_ok(problem, way, problem->whole ? "block" : "layer",
                  (problem->whole ? kernel->block_call
                                  : kernel->layer)(problem->packed, cache, before + i, end - i, x,
                                                   &extras, result, scratch_memory, given));
        memcpy(y + i * width, result, (end - i) * width * sizeof *y);
        guard_release(inner);
    }
    guard_release(mark);
}

/* ---- what must come out ---- */

struct view view_at(const struct kernel *kernel, ptrdiff_t position, size_t held) {
    const size_t right = kernel->causal ? 1 : kernel->window_right;
    const ptrdiff_t end = position + (ptrdiff_t)right, first = position - (ptrdiff_t)kernel->window;
    struct view view = {.position = position, .end = held};
    if (right && end < (ptrdiff_t)held)
        view.end = end > 0 ? (size_t)end : 0;
    if (kernel->window && first + 1 > 0)
        view.first = smaller((size_t)(first + 1), view.end);
    return view;
}

struct view view_of(const struct problem *problem, size_t row, size_t held) {
    const size_t position = problem->n - problem->rows + row;
    const struct extras extras = extras_from(problem, row);
    struct view view = view_at(problem->kernel, (ptrdiff_t)position, held);
    view.first = view.first < extras.first_key ? extras.first_key : view.first;
    view.end = smaller(view.end, extras.end_key);
    view.first = smaller(view.first, view.end);
    view.mask = extras.mask;
    view.bias = extras.bias;
    view.bias_head_stride = problem->kernel->mask_heads ? extras.bias_head_stride : 0;
    return view;
}

bool is_ring(const struct kernel *kernel) {
    return !kernel->cross && kernel->cache_positions < kernel->capacity;
}

bool knows_positions(const struct kernel *kernel) {
    return kernel->causal || kernel->window || kernel->window_right || kernel->alibi ||
           kernel->relative_buckets;
}

/* What each of the checked rows sees, of the keys that are there once its chunk is. */
static struct view *visible(const struct problem *problem, size_t chunk) {
    struct view *views = make(problem->checked, sizeof *views);
    const size_t before = problem->n - problem->rows;
    if (!chunk)
        chunk = problem->rows;
    for (size_t i = 0; i < problem->checked; i++) {
        const size_t row = problem->rows - problem->checked + i;
        const size_t end = smaller((row / chunk + 1) * chunk, problem->rows);
        views[i] = view_of(problem, row, problem->kernel->cross ? problem->n : before + end);
    }
    return views;
}

static struct bounded *loaded(const float *from, size_t count) {
    struct bounded *made = make(count, sizeof *made);
    reference_load(from, count, made);
    return made;
}

void attention_reference(const struct problem *problem, const struct view *views,
                         struct bounded *out, struct bounded *lse) {
    const struct kernel *kernel = problem->kernel;
    const size_t q_width = kernel->heads * kernel->head_dim;
    const size_t unchecked = problem->rows - problem->checked;
    struct bounded *q = loaded(problem->q + unchecked * q_width, problem->checked * q_width);
    struct bounded *k = loaded(problem->k, problem->n * kernel->kv_heads * kernel->head_dim);
    struct bounded *v = loaded(problem->v, problem->n * kernel->kv_heads * kernel->v_head_dim);
    struct view *right = visible(problem, 0);
    reference_attention(kernel, q, k, v, problem->checked, &problem->extras, views ? views : right,
                        out, lse);
    free(q);
    free(k);
    free(v);
    free(right);
}

void attention_bits(const struct problem *problem, float *out) {
    const struct kernel *kernel = problem->kernel;
    const size_t unchecked = problem->rows - problem->checked;
    struct view *views = visible(problem, 0);
    definition_attention(kernel, problem->q + unchecked * kernel->heads * kernel->head_dim,
                         problem->k, problem->v, problem->checked, &problem->extras, views, out);
    free(views);
}

static void latent_reference(const struct problem *problem, size_t chunk, const struct bounded *x,
                             struct bounded *y) {
    struct view *views = visible(problem, chunk);
    mla_reference(problem, chunk, x, views, y);
    free(views);
}

#define NAME layer_reference
#define LAYER
#define LATENT latent_reference
#define CORE layer_reference_core
#define AROUND layer_reference_around
#define BLOCK_NORM reference_block_norm
#define RESIDUAL reference_residual
#define FEED_FORWARD reference_feed_forward
#define NUMBER struct bounded
#define LOAD reference_load
#define PROJECT reference_project
#define ROTATE reference_rope
#define NORM reference_norm
#define CLIP reference_clip
#define ATTENTION(...) reference_attention(__VA_ARGS__, NULL)
#include "layer.inc"

static void copy(const float *from, size_t count, float *to) {
    if (count)
        memcpy(to, from, count * sizeof *to);
}

static void clip(const struct kernel *kernel, float *x, size_t count) {
    const float limit = (float)kernel->clip_qkv;
    for (size_t i = 0; i < count && limit > 0; i++)
        x[i] = x[i] < -limit ? -limit : x[i] > limit ? limit : x[i];
}

static void no_rope(const struct kernel *kernel, float *x, size_t heads, size_t pos,
                    size_t length) {
    (void)x, (void)heads, (void)pos, (void)length;
    cr_assert_not(kernel->rotary_dim, "the definition of a layer's bits leaves rope out");
}

static void no_latent(const struct problem *problem, size_t chunk, const float *x, float *y) {
    (void)chunk, (void)x, (void)y;
    cr_assert_fail("%s: the definition of a layer's bits leaves latents out, as it does rope",
                   problem->kernel->name);
}

#define NAME layer_bits
#define LATENT no_latent
#define CORE layer_bits_core
#define AROUND layer_bits_around
#define BLOCK_NORM definition_block_norm
#define RESIDUAL definition_residual
#define FEED_FORWARD definition_feed_forward
#define LAYER
#define NUMBER float
#define LOAD copy
#define PROJECT definition_project
#define ROTATE no_rope
#define NORM definition_norm
#define CLIP clip
#define ATTENTION definition_attention
#include "layer.inc"

/* ---- heads and keys ---- */

void copy_head(const float *from, size_t n, size_t heads, size_t head, float *to, size_t to_heads,
               size_t to_head, size_t width) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (i * to_heads + to_head) * width, from + (i * heads + head) * width,
               width * sizeof *to);
}

/* Weights that make of the input (1, 0, ...) the key k, before the norm by `norm`, and the value v
 * of every KV head. */
static struct weights constant_weights(const struct kernel *kernel, const float *k,
                                       const float *norm, float v) {
    const struct weights made = zero_weights(kernel);
    const size_t k_width = kernel->kv_heads * kernel->head_dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim;
    for (size_t i = 0; i < k_width; i++)
        *at(kernel, made.wk, 0, kernel->d_model, i, k_width) = k[i % kernel->head_dim];
    for (size_t i = 0; i < v_width; i++)
        *at(kernel, made.wv, 0, kernel->d_model, i, v_width) = v;
    for (size_t i = 0; i < norm_size(kernel, kernel->kv_heads); i++)
        ((float *)made.k_norm)[i] =
            (norm ? norm[i % kernel->head_dim] : 1) - (kernel->qk_norm->unit_offset ? 1.0F : 0);
    return made;
}

/* The key at `pos` has the value 1, a neighbour that is `expected` has 0, all before are too far
 * off to weigh. A query along channel d then answers with 1 / (1 + exp(SHARPNESS (expected -
 * key))). */
void key_in_cache(const struct kernel *kernel, const float *k, const float *norm, size_t pos,
                  const float *expected, double *observed) {
    const double SHARPNESS = 4096;
    const size_t dim = kernel->head_dim, k_width = kernel->kv_heads * dim;
    const size_t v_width = kernel->kv_heads * kernel->v_head_dim,
                 group = kernel->heads / kernel->kv_heads;
    const size_t neighbour = pos ? pos - 1 : 1, held = pos ? pos + 1 : 2;
    const struct weights weights = constant_weights(kernel, k, norm, 1);
    struct problem problem = {.kernel = kernel, .n = held, .rows = 1};
    float *sinks = make(kernel->heads, sizeof *sinks);
    for (size_t i = 0; i < kernel->heads; i++)
        sinks[i] = -INFINITY; /* none */
    problem.extras = (struct extras){.sinks = sinks, .end_key = SIZE_MAX};
    problem.packed = pack(kernel, &weights);
    problem.x = make(kernel->d_model, sizeof(float));
    problem.x[0] = 1;
    problem.k = make(held * k_width, sizeof(float));
    problem.v = make(held * v_width, sizeof(float));
    for (size_t i = 0; i < held * k_width; i++)
        problem.k[i] = i / k_width == neighbour ? expected[i % dim] : -1000.0F;

    const size_t q_width = kernel->heads * dim, out_width = kernel->heads * kernel->v_head_dim;
    void *cache = new_cache(&problem, &CACHED), *scratch_memory = scratch(&problem, &CACHED);
    float *q = make(q_width, sizeof *q), *out = make(out_width, sizeof *out);
    float *y = make(kernel->d_model, sizeof *y);
    append(&problem, &CACHED, cache, 0, pos);
    expect_ok(&problem, &CACHED, "layer",
              kernel->layer(problem.packed, cache, pos, 1, problem.x, &problem.extras, y,
                            scratch_memory, NULL));
    if (!pos)
        append(&problem, &CACHED, cache, neighbour, neighbour + 1);
    for (size_t d = 0; d < dim; d++) {
        for (size_t i = 0; i < q_width; i++)
            q[i] = i % dim == d ? (float)(SHARPNESS / kernel->scale) : 0;
        expect_ok(&problem, &CACHED, "cache_attention",
                  kernel->cache_attention(cache, held - 1, 1, q, &problem.extras, out,
                                          scratch_memory, NULL));
        for (size_t head = 0; head < kernel->kv_heads; head++) {
            const double share = (double)out[head * group * kernel->v_head_dim];
            observed[head * dim + d] = (double)expected[d] + log(share / (1 - share)) / SHARPNESS;
        }
    }
    free(sinks);
    free(problem.x);
    free(problem.k);
    free(problem.v);
    free(q);
    free(out);
    free(y);
}
