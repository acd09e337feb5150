$ -- Attention on given q, k and v, directly or from a cache: checks arguments, cuts a call into tasks.
$ local layer = shape.emit ~= "attention"
$ ring = layout.cache.ring -- blocks of a ring cache, or nil; read by the layer's part, too

/* ---- tasks ---- */

static int ${name}_aligned(const void *memory)
{
    return (uintptr_t)memory % ${NAME}_ALIGN == 0;
}

static size_t ${name}_threads(const ${name}_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
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
$ if shape.mla then
    const float *weights, *x; /* n rows of the layer, and what is made of them */
    size_t n;
    float *rows, *y;
    size_t early; /* rows of the call that are of the expanded form: its first ones */
    int latent;   /* whether any, now or later, are of the other one */
$ elseif layer then
    const float *weights, *x; /* of a projection: n rows */
    size_t n;
    float *q_rows, *k_rows, *v_rows, *y; /* its targets; NULL: not wanted */
    float *rows;                         /* room for them: q, k, v, the attention's output */
$ end
$ for _, extra in ipairs(layer and layer_extras or {}) do
$   if extra.row_step then
    ${arguments.declaration(extra)}; /* from row 0 of the layer's call on */
$   end
$ end
$ if shape.block then
    /* Rows of a block's chunk: x; the input of attention or feed-forward; what these two give; the sums, in
     * y; and the feed-forward's inner values. */
    int whole; /* 0: the layer alone */
    const float *residual;
    float *normed, *part, *sum, *inner;
$ end
$ if rope_switches then
    int is_long; /* turn as a long sequence */
$ end
} ${name}_job;

/* What a call needs to run, whatever it computes: a usable pool, aligned scratch, an instruction set. The
 * job is empty but for these. */
static int ${name}_begin(${name}_job *job, void *scratch, const ${name}_pool *pool)
{
    memset(job, 0, sizeof *job);
    job->kernels = ${name}_kernels_here();
    job->threads = ${name}_threads(pool);
    job->scratch = (float *)scratch;
    if (pool != NULL && (pool->threads < 1 || pool->threads > ${NAME}_MAX_THREADS))
        return ${NAME}_ERROR_RANGE;
    if (pool != NULL && pool->threads > 1 && pool->run == NULL)
        return ${NAME}_ERROR_NULL;
    if (!${name}_aligned(scratch))
        return ${NAME}_ERROR_ALIGN;
    return job->kernels != NULL ? ${NAME}_OK : ${NAME}_ERROR_CPU;
}

$ -- The tasks of one form of the attention: its functions and kernels begin with `of`, and its numbers
$ -- are C texts.
$ function attention_tasks(of, group, kv_heads, head_dim, v_head_dim, head_floats, form_ring)
/* Rows of a chunk: fewer than the kernels' own number if threads would stand idle. */
static size_t ${name}_${of}step(const ${name}_kernels *kernels, size_t rows, size_t threads)
{
    const size_t chunks = (threads + ${kv_heads} - 1) / ${kv_heads};
    const size_t step = (rows + chunks - 1) / chunks;
    return step < kernels->${of}query_rows ? step : kernels->${of}query_rows;
}

/* Items: query chunks, KV head by KV head, dealt out in turn: causal chunks grow steadily. */
static void ${name}_${of}attend_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t rows = job->call.n * ${group};
    const size_t step = ${name}_${of}step(job->kernels, rows, job->threads);
    const size_t chunks = (rows + step - 1) / step;
    float *const scratch = job->scratch + index * (${NAME}_THREAD_BYTES / sizeof(float));
    for (size_t item = index; item < chunks * ${kv_heads}; item += job->threads) {
        const size_t first = item % chunks * step;
        job->kernels->${of}attend(&job->call, item / chunks, first,
                             rows - first < step ? rows - first : step, scratch);
    }
}

/* Items: KV head and tile of positions. */
static void ${name}_${of}pack_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t n = job->call.n_kv - job->pos;
    const size_t chunks = (n + 127) / 128, items = chunks * ${kv_heads};
    const size_t end = ${name}_share(items, index + 1, job->threads);
    for (size_t item = ${name}_share(items, index, job->threads); item < end; item++) {
        const size_t head = item / chunks, i = item % chunks * 128;
$   local to = form_ring and "job->call.ring, " or ""
        job->kernels->${of}pack(job->k + (i * ${kv_heads} + head) * ${head_dim},
$   if v_head_dim then
                           job->v + (i * ${kv_heads} + head) * ${v_head_dim}, job->pos + i,
                           n - i < 128 ? n - i : 128, ${to}job->kv + head * ${form_ring and "job->call.kv_stride" or head_floats});
$   else
                           job->pos + i, n - i < 128 ? n - i : 128, ${to}job->kv + head * ${head_floats});
$   end
    }
}
$ end
$ attention_tasks("", tostring(layout.group), NAME .. "_KV_HEADS", NAME .. "_HEAD_DIM",
$   not shape.values_in_keys and NAME .. "_V_HEAD_DIM", NAME .. "_HEAD_FLOATS", ring)
$ local function or_v(text) return shape.values_in_keys and text or ("(%s || v == NULL)"):format(text) end

$ function check_extras(list)
$   for _, extra in ipairs(list) do
$     if extra.required then
    if (${extra.name} == NULL)
        return ${NAME}_ERROR_NULL;
$     end
$   end
$ end
$ function check_strides(list, keys)
$   for _, extra in ipairs(list) do
$     if extra.stride_of then
    if (${extra.stride_of} != NULL && ${extra.name} < ${keys})
        return ${NAME}_ERROR_RANGE;
$     end
$   end
$ end
$ function take_extras(list)
$   for _, extra in ipairs(list) do
    job.call.${extra.name} = ${extra.name};
$   end
$ end
int ${name}_attention(const float *q, const float *k, ${v_parameter}size_t n_q, size_t n_kv, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool)
{
    ${name}_job job;
    int status;
    if (q == NULL || out == NULL || scratch == NULL || (n_kv > 0 && ${or_v("k == NULL")}))
        return ${NAME}_ERROR_NULL;
$ check_extras(extras)
$ if shape.exact then
    if (n_q != ${NAME}_CAPACITY || n_kv != ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ else
    if (n_q > ${NAME}_CAPACITY || n_kv > ${kv_capacity})
        return ${NAME}_ERROR_RANGE;
$ end
$ check_strides(extras, "n_kv")
    status = ${name}_begin(&job, scratch, pool);
    if (status != ${NAME}_OK)
        return status;
    if (n_q == 0)
        return ${NAME}_OK;
    job.kv = job.scratch;
    job.k = k;
$ if not shape.values_in_keys then
    job.v = v;
$ end
    job.call.q = q;
    job.call.out = out;
    job.call.kv = job.kv;
    job.call.n = n_q;
    job.call.n_kv = n_kv;
    job.call.pos = (ptrdiff_t)n_kv - (ptrdiff_t)n_q;
$ take_extras(extras)
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
        const size_t rows = n_q * ${layout.group}, step = job.kernels->query_rows;
        if (n_kv > 0)
            job.kernels->pack(k + head * ${NAME}_HEAD_DIM, ${shape.values_in_keys and "" or "v + head * " .. NAME .. "_V_HEAD_DIM, "}0, n_kv, ${ring and "0, " or ""}job.kv);
        for (size_t first = 0; first < rows; first += step)
            job.kernels->attend(&job.call, head, first, rows - first < step ? rows - first : step, job.scratch);
    }
    return ${NAME}_OK;
}

/* ---- cache ---- */

/* The first ${plan.ALIGN} bytes of a cache; the rest is packed keys${shape.values_in_keys and "" or " and values"}. */
typedef struct ${name}_cache_head {
    uint64_t mark;   /* tells a cache of this kernel */
$ if ring then
    uint64_t length; /* the next position */
    uint64_t first;  /* positions first .. length - 1 are held */
$ else
    uint64_t length; /* positions held */
$ end
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
    if (head.mark != ${name}_cache_mark || head.length > ${kv_capacity}${ring and " || head.first > head.length" or ""}${rope_switches and " || head.is_long > 1" or ""})
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
$ if ring then
/* The first position that a valid cache holds. */
static size_t ${name}_cache_first(const void *cache)
{
    ${name}_cache_head head;
    memcpy(&head, cache, sizeof head);
    return (size_t)head.first;
}

/* The same once n positions have been written at pos: what lay in their places is lost, and what
 * stands before a pos that is not held any more was lost before. */
static size_t ${name}_cache_first_after(const void *cache, size_t pos, size_t n)
{
    const size_t first = ${name}_cache_first(cache);
    if (pos < first)
        return pos;
    return pos + n > first + ${NAME}_CACHE_POSITIONS ? pos + n - ${NAME}_CACHE_POSITIONS : first;
}

/* Whether a query at pos sees a key before `first`. */
static int ${name}_lacks_keys(size_t pos, size_t first)
{
    return (pos < ${NAME}_WINDOW ? 0 : pos - (${NAME}_WINDOW - 1)) < first;
}

$ end
$ local first_parameter = ring and "size_t first, " or ""
static void ${name}_cache_set(void *cache, ${first_parameter}size_t length${rope_switches and ", int is_long" or ""})
{
    ${name}_cache_head head;
    head.mark = ${name}_cache_mark;
    head.length = length;
$ if ring then
    head.first = first;
$ end
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
    ${name}_cache_set(cache, ${ring and "0, " or ""}0${is_long});
    return ${NAME}_OK;
}
$ end
$ reset("", rope_switches and ", 0" or "")
$ if rope_switches then

$   reset("_long", ", 1")
$ end

int ${name}_cache_append(void *cache, size_t pos, size_t n, const float *k${shape.values_in_keys and "" or ", const float *v"})
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    ${name}_job job;
    int status;
    const size_t length = ${name}_cache_length(cache, &status);
    memset(&job, 0, sizeof job);
    if (status != ${NAME}_OK)
        return status;
    if (n > 0 && ${or_v("k == NULL")})
        return ${NAME}_ERROR_NULL;
    if (pos > length || n > ${kv_capacity} - pos${ring and (" || n > %s_CHUNK"):format(NAME) or ""})
        return ${NAME}_ERROR_RANGE;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    if (n == 0)
        return ${NAME}_OK;
    job.kernels = kernels;
    job.threads = 1;
    job.k = k;
$ if not shape.values_in_keys then
    job.v = v;
$ end
    job.pos = pos;
    job.call.n_kv = pos + n;
    job.kv = (float *)cache + ${NAME}_ALIGN / sizeof(float);
$ if ring then
    job.call.ring = 1;
    job.call.kv_stride = ${NAME}_CACHE_HEAD_FLOATS;
$ end
    ${name}_pack_task(&job, 0);
    ${name}_cache_set(cache, ${ring and name .. "_cache_first_after(cache, pos, n), " or ""}pos + n${rope_switches and (", %s_cache_is_long(cache)"):format(name) or ""});
    return ${NAME}_OK;
}

int ${name}_cache_attention(const void *cache, ${pos_parameter}size_t n, const float *q, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool)
{
    ${name}_job job;
    int status;
    const size_t length = ${name}_cache_length(cache, &status);
    if (status != ${NAME}_OK)
        return status;
    if (q == NULL || out == NULL || scratch == NULL)
        return ${NAME}_ERROR_NULL;
$ check_extras(extras)
$ if shape.cross then
    if (n > ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ elseif shape.lse then
    if (n > ${NAME}_CAPACITY || pos > ${plan.POSITIONS} - n) /* queries may stand past the keys */
        return ${NAME}_ERROR_RANGE;
$ else
    if (pos > length || n > length - pos)
        return ${NAME}_ERROR_RANGE;
$ end
$ check_strides(extras, "length")
$ if ring then
    if (${name}_lacks_keys(pos, ${name}_cache_first(cache)))
        return ${NAME}_ERROR_RANGE;
$ end
    status = ${name}_begin(&job, scratch, pool);
    if (status != ${NAME}_OK)
        return status;
    if (n == 0)
        return ${NAME}_OK;
    job.call.q = q;
    job.call.out = out;
    job.call.kv = (const float *)cache + ${NAME}_ALIGN / sizeof(float);
$ if ring then
    job.call.ring = 1;
    job.call.kv_stride = ${NAME}_CACHE_HEAD_FLOATS;
$ else
    job.call.kv_stride = ${NAME}_HEAD_FLOATS;
$ end
    job.call.n = n;
    job.call.n_kv = length;
$ if not shape.cross then
    job.call.pos = (ptrdiff_t)pos;
$ end
$ take_extras(extras)
    ${name}_run(pool, ${name}_attend_task, &job);
    return ${NAME}_OK;
}
$ if shape.lse then

int ${name}_merge(float *out, float *lse, const float *other, const float *other_lse, size_t n)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    if (out == NULL || lse == NULL || other == NULL || other_lse == NULL)
        return ${NAME}_ERROR_NULL;
    if (n > ${plan.POSITIONS})
        return ${NAME}_ERROR_RANGE;
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    kernels->merge(out, lse, other, other_lse, n * ${NAME}_HEADS);
    return ${NAME}_OK;
}
$ end
