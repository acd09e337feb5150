$ -- The API: checks arguments, picks the instruction set, cuts a call into tasks. Everything that
$ -- computes is in the kernels' files; here nothing depends on an instruction set but the choice.
$ local layer = shape.emit == "layer"
$ local w = memory.weight_offsets
/* ---- choice of the instruction set ---- */
$ if cpu_words > 0 then

/* What the CPU and its operating system say, in words that the masks below read. For tests, and for
 * systems that hide it: ${NAME}_READ_CPU may name another function that fills in the words. */
#if defined(${NAME}_READ_CPU)
#ifdef __cplusplus
extern "C"
#endif
void ${NAME}_READ_CPU(uint64_t *words);
$   for _, each in ipairs(cpus) do
#elif ${each.guard}
#define ${NAME}_READ_CPU ${name}_read_cpu
${each.code:sub(1, -2)}
$   end
#else
#define ${NAME}_READ_CPU(words) memset(words, 0, ${cpu_words} * sizeof *(words))
#endif
$ end

/* An instruction set, and the bits that it needs. */
typedef struct ${name}_set {
    const ${name}_kernels *kernels;
$ if cpu_words > 0 then
    uint64_t needs[${cpu_words}];
$ end
} ${name}_set;

/* Best first. */
static const ${name}_set ${name}_sets[] = {
$ local function row(kernels, needs)
    {${kernels}${cpu_words > 0 and ", {" .. needs .. "}" or ""}},
$ end
$ for index = #isas, 1, -1 do
$   local set = isas[index]
$   if set.guard ~= "1" then
#if ${set.guard}
$   end
$   row(("&%s_%s_kernels"):format(name, set.symbol), asks[set.id])
$   if set.guard ~= "1" then
#endif
$   end
$ end
$ row("NULL", "0")
};

/* The best one that runs here, or the one of that name; NULL if there is none. */
static const ${name}_kernels *${name}_find(const char *isa)
{
$ if cpu_words > 0 then
    uint64_t words[${cpu_words}] = {0};
    ${NAME}_READ_CPU(words);
$ end
    for (const ${name}_set *set = ${name}_sets; set->kernels != NULL; set++) {
        int runs = isa == NULL || strcmp(set->kernels->isa, isa) == 0;
$ if cpu_words > 0 then
        for (int i = 0; i < ${cpu_words}; i++)
            runs = runs && (words[i] & set->needs[i]) == set->needs[i];
$ end
        if (runs)
            return set->kernels;
    }
    return NULL;
}

/* The one writable variable: which set runs, NULL until the first call has looked. Every thread
 * that looks finds the same, so a plain atomic store will do. */
static const ${name}_kernels *${name}_selected;

#if defined(__GNUC__) || defined(__clang__)
#define ${NAME}_READ() __atomic_load_n(&${name}_selected, __ATOMIC_ACQUIRE)
#define ${NAME}_SELECT(kernels) __atomic_store_n(&${name}_selected, kernels, __ATOMIC_RELEASE)
#else /* aligned pointers are read and written whole */
#define ${NAME}_READ() (*(const ${name}_kernels *volatile *)&${name}_selected)
#define ${NAME}_SELECT(kernels) (*(const ${name}_kernels *volatile *)&${name}_selected = (kernels))
#endif

static const ${name}_kernels *${name}_kernels_here(void)
{
    const ${name}_kernels *kernels = ${NAME}_READ();
    if (kernels == NULL) {
        kernels = ${name}_find(NULL);
        ${NAME}_SELECT(kernels);
    }
    return kernels;
}

const char *${name}_isa(void)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    return kernels != NULL ? kernels->isa : "none";
}

int ${name}_use_isa(const char *isa)
{
    const ${name}_kernels *const kernels = ${name}_find(isa);
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    ${NAME}_SELECT(kernels);
    return ${NAME}_OK;
}

/* ---- tasks ---- */

static int ${name}_aligned(const void *memory)
{
    return (uintptr_t)memory % ${NAME}_ALIGN == 0;
}

static size_t ${name}_threads(const ${name}_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}

/* A pool that cannot be used: its status, else OK. */
static int ${name}_check_pool(const ${name}_pool *pool)
{
    if (pool == NULL)
        return ${NAME}_OK;
    if (pool->threads < 1 || pool->threads > ${NAME}_MAX_THREADS)
        return ${NAME}_ERROR_RANGE;
    return pool->threads > 1 && pool->run == NULL ? ${NAME}_ERROR_NULL : ${NAME}_OK;
}

static void ${name}_run(const ${name}_pool *pool, void (*task)(void *, size_t), void *argument)
{
    if (pool != NULL && pool->threads > 1)
        pool->run(pool->self, task, argument, pool->threads);
    else
        task(argument, 0);
}

/* Task i of `threads` takes items [i * items / threads, (i + 1) * items / threads). */
static size_t ${name}_share(size_t items, size_t index, size_t threads)
{
    return items / threads * index + items % threads * index / threads;
}

typedef struct ${name}_job {
    const ${name}_kernels *kernels;
    size_t threads;
    float *scratch; /* of thread 0; ${NAME}_THREAD_BYTES apart */
    ${name}_call call;
    const float *k, *v; /* to pack: row 0 stands at position `pos` */
    size_t pos;
    float *kv;
$ if layer then
    const float *weights, *x; /* of a projection: n rows */
    size_t n;
    float *q_rows, *k_rows, *v_rows, *y; /* its targets; NULL: not wanted */
$ end
$ if rope_switches then
    int is_long; /* turn as a long sequence */
$ end
} ${name}_job;

/* Rows of a chunk: fewer than the kernels' own number if threads would stand idle. */
static size_t ${name}_step(const ${name}_kernels *kernels, size_t rows, size_t threads)
{
    const size_t chunks = (threads + ${NAME}_KV_HEADS - 1) / ${NAME}_KV_HEADS;
    const size_t step = (rows + chunks - 1) / chunks;
    return step < kernels->query_rows ? step : kernels->query_rows;
}

/* Items: query chunks, KV head by KV head, dealt out in turn: causal chunks grow steadily. */
static void ${name}_attend_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t rows = job->call.n * ${layout.group};
    const size_t step = ${name}_step(job->kernels, rows, job->threads);
    const size_t chunks = (rows + step - 1) / step;
    float *const scratch = job->scratch + index * (${NAME}_THREAD_BYTES / sizeof(float));
    for (size_t item = index; item < chunks * ${NAME}_KV_HEADS; item += job->threads) {
        const size_t first = item % chunks * step;
        job->kernels->attend(&job->call, item / chunks, first,
                             rows - first < step ? rows - first : step, scratch);
    }
}

/* Items: KV head and tile of positions. */
static void ${name}_pack_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t n = job->call.n_kv - job->pos;
    const size_t chunks = (n + 127) / 128, items = chunks * ${NAME}_KV_HEADS;
    const size_t end = ${name}_share(items, index + 1, job->threads);
    for (size_t item = ${name}_share(items, index, job->threads); item < end; item++) {
        const size_t head = item / chunks, i = item % chunks * 128;
        job->kernels->pack(job->k + (i * ${NAME}_KV_HEADS + head) * ${NAME}_HEAD_DIM,
                           job->v + (i * ${NAME}_KV_HEADS + head) * ${NAME}_V_HEAD_DIM, job->pos + i,
                           n - i < 128 ? n - i : 128, job->kv + head * ${NAME}_HEAD_FLOATS);
    }
}

int ${name}_attention(const float *q, const float *k, const float *v, size_t n_q, size_t n_kv, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    ${name}_job job;
    memset(&job, 0, sizeof job);
    if (q == NULL || out == NULL || scratch == NULL || (n_kv > 0 && (k == NULL || v == NULL)))
        return ${NAME}_ERROR_NULL;
$ if shape.sinks then
    if (sinks == NULL)
        return ${NAME}_ERROR_NULL;
$ end
$ if shape.exact then
    if (n_q != ${NAME}_CAPACITY || n_kv != ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ else
    if (n_q > ${NAME}_CAPACITY || n_kv > ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ end
    if (${name}_check_pool(pool) != ${NAME}_OK)
        return ${name}_check_pool(pool);
    if (!${name}_aligned(scratch))
        return ${NAME}_ERROR_ALIGN;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    if (n_q == 0)
        return ${NAME}_OK;
    job.kernels = kernels;
    job.threads = ${name}_threads(pool);
    job.kv = (float *)scratch;
    job.k = k;
    job.v = v;
    job.call.q = q;
    job.call.out = out;
    job.call.kv = job.kv;
    job.call.n = n_q;
    job.call.n_kv = n_kv;
    job.call.pos = (ptrdiff_t)n_kv - (ptrdiff_t)n_q;
$ if shape.sinks then
    job.call.sinks = sinks;
$ end
    if (job.threads > 1) {
        job.scratch = job.kv + (size_t)${NAME}_KV_HEADS * ${NAME}_HEAD_FLOATS;
        job.call.kv_stride = ${NAME}_HEAD_FLOATS;
        if (n_kv > 0)
            ${name}_run(pool, ${name}_pack_task, &job);
        ${name}_run(pool, ${name}_attend_task, &job);
        return ${NAME}_OK;
    }
    /* One thread packs and uses one KV head after the other, in the same memory. */
    job.scratch = job.kv + ${NAME}_HEAD_FLOATS;
    for (size_t head = 0; head < ${NAME}_KV_HEADS; head++) {
        const size_t rows = n_q * ${layout.group};
        if (n_kv > 0)
            kernels->pack(k + head * ${NAME}_HEAD_DIM, v + head * ${NAME}_V_HEAD_DIM, 0, n_kv, job.kv);
        for (size_t first = 0; first < rows; first += kernels->query_rows)
            kernels->attend(&job.call, head, first,
                            rows - first < kernels->query_rows ? rows - first : kernels->query_rows,
                            job.scratch);
    }
    return ${NAME}_OK;
}

/* ---- cache ---- */

/* The first ${plan.ALIGN} bytes of a cache; the rest is packed keys and values. */
typedef struct ${name}_cache_head {
    uint64_t mark;   /* tells a cache of this kernel */
    uint64_t length; /* positions held */
$ if rope_switches then
    uint64_t is_long; /* 1: of a sequence longer than ${NAME}_ROPE_ORIGINAL positions */
$ end
} ${name}_cache_head;

static const uint64_t ${name}_cache_mark = UINT64_C(0x${mark.cache});

/* The length of a cache, or a negative status in *status. */
static size_t ${name}_cache_length(const void *cache, int *status)
{
    ${name}_cache_head head;
    *status = cache == NULL ? ${NAME}_ERROR_NULL : !${name}_aligned(cache) ? ${NAME}_ERROR_ALIGN : ${NAME}_OK;
    if (*status != ${NAME}_OK)
        return 0;
    memcpy(&head, cache, sizeof head);
    if (head.mark != ${name}_cache_mark || head.length > ${NAME}_CAPACITY${rope_switches and " || head.is_long > 1" or ""})
        *status = ${NAME}_ERROR_CACHE;
    return (size_t)head.length;
}

$ if rope_switches then
/* Whether a valid cache is one of a long sequence. */
static int ${name}_cache_is_long(const void *cache)
{
    ${name}_cache_head head;
    memcpy(&head, cache, sizeof head);
    return (int)head.is_long;
}

$ end
static void ${name}_cache_set(void *cache, size_t length${rope_switches and ", int is_long" or ""})
{
    ${name}_cache_head head;
    head.mark = ${name}_cache_mark;
    head.length = length;
$ if rope_switches then
    head.is_long = (uint64_t)is_long;
$ end
    memset(cache, 0, ${NAME}_ALIGN); /* all of it, so that saved caches are equal */
    memcpy(cache, &head, sizeof head);
}

$ local function reset(suffix, is_long)
int ${name}_cache_reset${suffix}(void *cache)
{
    if (cache == NULL)
        return ${NAME}_ERROR_NULL;
    if (!${name}_aligned(cache))
        return ${NAME}_ERROR_ALIGN;
    ${name}_cache_set(cache, 0${is_long});
    return ${NAME}_OK;
}
$ end
$ reset("", rope_switches and ", 0" or "")
$ if rope_switches then

$   reset("_long", ", 1")
$ end

int ${name}_cache_append(void *cache, size_t pos, size_t n, const float *k, const float *v)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    ${name}_job job;
    int status;
    const size_t length = ${name}_cache_length(cache, &status);
    memset(&job, 0, sizeof job);
    if (status != ${NAME}_OK)
        return status;
    if (n > 0 && (k == NULL || v == NULL))
        return ${NAME}_ERROR_NULL;
    if (pos > length || n > ${NAME}_CAPACITY - pos)
        return ${NAME}_ERROR_RANGE;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    if (n == 0)
        return ${NAME}_OK;
    job.kernels = kernels;
    job.threads = 1;
    job.k = k;
    job.v = v;
    job.pos = pos;
    job.call.n_kv = pos + n;
    job.kv = (float *)cache + ${NAME}_ALIGN / sizeof(float);
    ${name}_pack_task(&job, 0);
    ${name}_cache_set(cache, pos + n${rope_switches and (", %s_cache_is_long(cache)"):format(name) or ""});
    return ${NAME}_OK;
}

int ${name}_cache_attention(const void *cache, size_t pos, size_t n, const float *q, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    ${name}_job job;
    int status;
    const size_t length = ${name}_cache_length(cache, &status);
    memset(&job, 0, sizeof job);
    if (status != ${NAME}_OK)
        return status;
    if (q == NULL || out == NULL || scratch == NULL)
        return ${NAME}_ERROR_NULL;
$ if shape.sinks then
    if (sinks == NULL)
        return ${NAME}_ERROR_NULL;
$ end
    if (pos > length || n > length - pos)
        return ${NAME}_ERROR_RANGE;
    if (${name}_check_pool(pool) != ${NAME}_OK)
        return ${name}_check_pool(pool);
    if (!${name}_aligned(scratch))
        return ${NAME}_ERROR_ALIGN;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    if (n == 0)
        return ${NAME}_OK;
    job.kernels = kernels;
    job.threads = ${name}_threads(pool);
    job.scratch = (float *)scratch;
    job.call.q = q;
    job.call.out = out;
    job.call.kv = (const float *)cache + ${NAME}_ALIGN / sizeof(float);
    job.call.kv_stride = ${NAME}_HEAD_FLOATS;
    job.call.n = n;
    job.call.n_kv = length;
    job.call.pos = (ptrdiff_t)pos;
$ if shape.sinks then
    job.call.sinks = sinks;
$ end
    ${name}_run(pool, ${name}_attend_task, &job);
    return ${NAME}_OK;
}
$ if layer then

/* ---- layer ---- */

static const uint64_t ${name}_weights_mark = UINT64_C(0x${mark.weights});

/* Packs `columns` outputs of `depth` inputs: panels of ${plan.PANEL} columns, each with its bias (if `has_bias`)
 * and then [depth][${plan.PANEL}]; columns past the last are zero. */
static void ${name}_pack_matrix(const float *w, const float *bias, int has_bias, size_t columns,
    size_t depth, float *packed)
{
    for (size_t first = 0; first < columns; first += ${plan.PANEL})
        for (size_t row = has_bias ? 0 : 1; row <= depth; row++, packed += ${plan.PANEL})
            for (size_t c = 0; c < ${plan.PANEL}; c++) {
                const size_t column = first + c;
                if (column >= columns)
                    packed[c] = 0.0f;
                else if (row == 0)
                    packed[c] = bias[column];
                else
$ if shape.weights_layout == "out_in" then
                    packed[c] = w[column * depth + row - 1];
$ else
                    packed[c] = w[(row - 1) * columns + column];
$ end
            }
}

$ if shape.qk_norm then
/* Packs `count` vectors of `width` parameters, each padded with zeros to ${plan.VALUE_PAD}. Adds `more` to each:
 * -0 changes none. */
static void ${name}_pack_norm(const float *from, float more, size_t count, size_t width, float *packed)
{
    const size_t stride = (width + ${plan.VALUE_PAD - 1}) / ${plan.VALUE_PAD} * ${plan.VALUE_PAD};
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < stride; c++)
            packed[i * stride + c] = c < width ? from[i * width + c] + more : 0.0f;
}

$ end
int ${name}_pack_weights(const ${name}_weights *source, void *weights)
{
    float *const packed = (float *)weights + (weights != NULL ? ${NAME}_ALIGN / sizeof(float) : 0);
    if (source == NULL || weights == NULL || source->wq == NULL || source->wk == NULL || source->wv == NULL ||
        source->wo == NULL)
        return ${NAME}_ERROR_NULL;
$ if shape.qkv_bias then
    if (source->bq == NULL || source->bk == NULL || source->bv == NULL)
        return ${NAME}_ERROR_NULL;
$ end
$ if shape.o_bias then
    if (source->bo == NULL)
        return ${NAME}_ERROR_NULL;
$ end
$ if shape.qk_norm then
    if (source->q_norm == NULL || source->k_norm == NULL)
        return ${NAME}_ERROR_NULL;
$   if shape.qk_norm.bias then
    if (source->q_norm_bias == NULL || source->k_norm_bias == NULL)
        return ${NAME}_ERROR_NULL;
$   end
$ end
$ if shape.sinks then
    if (source->sinks == NULL)
        return ${NAME}_ERROR_NULL;
$ end
    if (!${name}_aligned(weights))
        return ${NAME}_ERROR_ALIGN;
$ local function bias(which, on) return on and "source->" .. which or "NULL" end
$ local b, bo = shape.qkv_bias and 1 or 0, shape.o_bias and 1 or 0
    ${name}_pack_matrix(source->wq, ${bias("bq", shape.qkv_bias)}, ${b}, ${layout.q_width}, ${NAME}_D_MODEL, packed);
    ${name}_pack_matrix(source->wk, ${bias("bk", shape.qkv_bias)}, ${b}, ${layout.k_width}, ${NAME}_D_MODEL, packed + ${w.wk});
    ${name}_pack_matrix(source->wv, ${bias("bv", shape.qkv_bias)}, ${b}, ${layout.v_width}, ${NAME}_D_MODEL, packed + ${w.wv});
    ${name}_pack_matrix(source->wo, ${bias("bo", shape.o_bias)}, ${bo}, ${NAME}_D_MODEL, ${layout.o_width}, packed + ${w.wo});
$ for _, which in ipairs(shape.qk_norm and { "q_norm", "k_norm" } or {}) do
$   local packed = layout[which]
    ${name}_pack_norm(source->${which}, ${shape.qk_norm.unit_offset and "1.0f" or "-0.0f"}, ${packed.count}, ${packed.width}, packed + ${w[which]});
$   if shape.qk_norm.bias then
    ${name}_pack_norm(source->${which}_bias, -0.0f, ${packed.count}, ${packed.width}, packed + ${w[which] + packed.bias});
$   end
$ end
$ if shape.sinks then
    memset(packed + ${w.sinks}, 0, ${w.floats - w.sinks} * sizeof(float));
    memcpy(packed + ${w.sinks}, source->sinks, ${NAME}_HEADS * sizeof(float));
$ end
    memset(weights, 0, ${NAME}_ALIGN);
    memcpy(weights, &${name}_weights_mark, sizeof ${name}_weights_mark);
    return ${NAME}_OK;
}

/* One thread's share of the panels of one projection. */
static void ${name}_project(const ${name}_job *job, size_t index, int out, const float *w,
    size_t columns, float *y)
{
    const size_t panels = (columns + ${plan.PANEL - 1}) / ${plan.PANEL};
    const size_t first = ${name}_share(panels, index, job->threads);
    const size_t count = ${name}_share(panels, index + 1, job->threads) - first;
    if (y != NULL && count > 0)
        (out ? job->kernels->project_out : job->kernels->project_in)(job->x, job->n, w, columns, first, count, y);
}

static void ${name}_project_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    ${name}_project(job, index, 0, job->weights, ${layout.q_width}, job->q_rows);
    ${name}_project(job, index, 0, job->weights + ${w.wk}, ${layout.k_width}, job->k_rows);
    ${name}_project(job, index, 0, job->weights + ${w.wv}, ${layout.v_width}, job->v_rows);
    ${name}_project(job, index, 1, job->weights + ${w.wo}, ${NAME}_D_MODEL, job->y);
}
$ local prepare = shape.qk_norm and "prepare" or "rotate" -- what becomes of projected q and k
$ if shape.rope or shape.qk_norm then
$   local long = rope_switches and ", job->is_long" or ""
$   local after = shape.qk_norm and shape.qk_norm.order == "after_rope"
$   local function norm(which)
    if (job->${which}_rows != NULL)
        job->kernels->norm_${which}(job->${which}_rows + first * ${layout[which .. "_width"]}, count, job->weights + ${w[which .. "_norm"]});
$   end
$   local function norms()
$     norm("q")
$     norm("k")
$   end

/* Items: rows of the chunk. Queries and keys, whichever there are. */
static void ${name}_${prepare}_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t first = ${name}_share(job->n, index, job->threads);
    const size_t count = ${name}_share(job->n, index + 1, job->threads) - first;
$   if shape.qk_norm and not after then norms() end
$   if shape.rope then
    if (job->q_rows != NULL)
        job->kernels->rotate(job->q_rows + first * ${layout.q_width}, count, ${NAME}_HEADS, job->pos + first${long});
    if (job->k_rows != NULL)
        job->kernels->rotate(job->k_rows + first * ${layout.k_width}, count, ${NAME}_KV_HEADS, job->pos + first${long});
$   end
$   if after then norms() end
}
$ end

int ${name}_layer(const void *weights, void *cache, size_t pos, size_t n, const float *x, float *y,
    void *scratch, const ${name}_pool *pool)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    const size_t step = ${layout.layer_rows};
    ${name}_job job;
    float *q_rows, *k_rows, *v_rows, *o_rows;
    size_t held = 0;
    int status;
    uint64_t mark;
    memset(&job, 0, sizeof job);
    if (weights == NULL || x == NULL || y == NULL || scratch == NULL)
        return ${NAME}_ERROR_NULL;
    if (!${name}_aligned(weights) || !${name}_aligned(scratch))
        return ${NAME}_ERROR_ALIGN;
    if (cache != NULL) {
        held = ${name}_cache_length(cache, &status);
        if (status != ${NAME}_OK)
            return status;
    }
    if (pos > held || n > ${NAME}_CAPACITY - pos)
        return ${NAME}_ERROR_RANGE;
$ if shape.exact then
    if (cache == NULL && n != ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ end
$ if rope_switches then
    /* Keys of a short sequence cannot be those of a long one. */
    job.is_long = cache != NULL ? ${name}_cache_is_long(cache) : n > ${NAME}_ROPE_ORIGINAL;
    if (pos + n > ${NAME}_ROPE_ORIGINAL && !job.is_long)
        return ${NAME}_ERROR_RANGE;
$ end
    if (${name}_check_pool(pool) != ${NAME}_OK)
        return ${name}_check_pool(pool);
    memcpy(&mark, weights, sizeof mark);
    if (mark != ${name}_weights_mark)
        return ${NAME}_ERROR_WEIGHTS;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    if (n == 0)
        return ${NAME}_OK;

    q_rows = (float *)scratch;
    k_rows = q_rows + step * ${layout.q_width};
    v_rows = k_rows + step * ${layout.k_width};
    o_rows = v_rows + step * ${layout.v_width};
    job.kernels = kernels;
    job.threads = ${name}_threads(pool);
    job.weights = (const float *)weights + ${NAME}_ALIGN / sizeof(float);
    job.scratch = (float *)scratch + ${NAME}_LAYER_BYTES / sizeof(float);
    if (cache != NULL) {
        job.kv = (float *)cache + ${NAME}_ALIGN / sizeof(float);
    } else {
        job.kv = job.scratch;
        job.scratch += (size_t)${NAME}_KV_HEADS * ${NAME}_HEAD_FLOATS;
    }
    job.call.kv = job.kv;
    job.call.kv_stride = ${NAME}_HEAD_FLOATS;
$ if shape.sinks then
    job.call.sinks = job.weights + ${w.sinks};
$ end

    /* All keys and values first, then the queries: x may be y. */
    for (size_t first = 0; first < n; first += step) {
        job.x = x + first * ${NAME}_D_MODEL;
        job.n = n - first < step ? n - first : step;
        job.q_rows = n <= step ? q_rows : NULL;
        job.k_rows = k_rows;
        job.v_rows = v_rows;
        job.y = NULL;
        ${name}_run(pool, ${name}_project_task, &job);
        job.pos = pos + first;
$ if shape.rope or shape.qk_norm then
        ${name}_run(pool, ${name}_${prepare}_task, &job);
$ end
        job.k = k_rows;
        job.v = v_rows;
        job.call.n_kv = pos + first + job.n;
        ${name}_run(pool, ${name}_pack_task, &job);
    }
    if (cache != NULL)
        ${name}_cache_set(cache, pos + n${rope_switches and ", job.is_long" or ""});
    job.k_rows = NULL;
    job.v_rows = NULL;
    for (size_t first = 0; first < n; first += step) {
        job.n = n - first < step ? n - first : step;
        job.pos = pos + first;
        if (n > step) {
            job.x = x + first * ${NAME}_D_MODEL;
            job.q_rows = q_rows;
            ${name}_run(pool, ${name}_project_task, &job);
$ if shape.rope or shape.qk_norm then
            ${name}_run(pool, ${name}_${prepare}_task, &job);
$ end
        }
        job.call.q = q_rows;
        job.call.out = o_rows;
        job.call.n = job.n;
        job.call.pos = (ptrdiff_t)job.pos;
        ${name}_run(pool, ${name}_attend_task, &job);
        job.q_rows = NULL;
        job.x = o_rows;
        job.y = y + first * ${NAME}_D_MODEL;
        ${name}_run(pool, ${name}_project_task, &job);
        job.y = NULL;
    }
    return ${NAME}_OK;
}
$ end
#undef ${NAME}_READ
#undef ${NAME}_SELECT
$ if cpu_words > 0 then
#undef ${NAME}_READ_CPU
$ end
