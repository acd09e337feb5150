$ -- The calls of the layer, and of the block around it: they check their arguments and find where keys lie,
$ -- then take rows by the functions of layer.t or mla.t.
$ if shape.emit ~= "attention" then
$ local block, reach = shape.block, layout.reach
$ local w = memory.weight_offsets
$ local rows = shape.mla and mla_layer.step or layout.layer_rows
$ local function take_layer_extras()
$   take_extras(layer_extras)
$   for _, extra in ipairs(layer_extras) do
$     if extra.row_step then
    job.${extra.name} = ${extra.name};
$     end
$   end
$ end

/* What all calls of the layer need to run and begin with; *held: positions of the cache. */
static int ${name}_layer_begin(${name}_job *job, ${block and "int whole, " or ""}const void *weights, const void *cache,
    const void *x, void *scratch, const ${name}_pool *pool, size_t *held)
{
    int status = ${NAME}_OK;
    uint64_t mark;
    if (weights == NULL || x == NULL || scratch == NULL)
        return ${NAME}_ERROR_NULL;
    if (!${name}_aligned(weights))
        return ${NAME}_ERROR_ALIGN;
$ if shape.cross then
    *held = ${name}_cache_length(cache, &status);
$ else
    *held = cache != NULL ? ${name}_cache_length(cache, &status) : 0;
$ end
    if (status != ${NAME}_OK)
        return status;
    memcpy(&mark, weights, sizeof mark);
    if (mark != ${name}_weights_mark)
        return ${NAME}_ERROR_WEIGHTS;
$ if block then
    if (whole) {
        memcpy(&mark, (const char *)weights + ${NAME}_WEIGHTS_BYTES, sizeof mark);
        if (mark != ${name}_block_mark)
            return ${NAME}_ERROR_WEIGHTS;
    }
$ end
    status = ${name}_begin(job, scratch, pool);
    if (status != ${NAME}_OK)
        return status;
    job->weights = (const float *)weights + ${NAME}_ALIGN / sizeof(float);
    job->rows = job->scratch;
    job->scratch += ${NAME}_LAYER_BYTES / sizeof(float);
    job->call.kv_stride = ${NAME}_HEAD_FLOATS;
$ for _, extra in ipairs(packed) do
    job->call.${extra.name} = job->weights + ${w[extra.name]};
$ end
$ if block then
    job->whole = whole;
    /* inner: once q, k, v and the attention's output are used */
$   if shape.mla then
    job->inner = job->rows + ${mla_layer.rows.inner};
    job->normed = job->rows + ${mla_layer.rows.normed};
    job->part = job->rows + ${mla_layer.rows.part};
$   else
    job->inner = job->rows;
    job->normed = job->rows + ${rows * layout.inner_width};
    job->part = job->normed + ${rows} * ${NAME}_D_MODEL;
$   end
$ end
    return ${NAME}_OK;
}

$ if shape.cross then
int ${name}_source(const void *weights, void *cache, size_t pos, size_t n, const float *x, void *scratch,
    const ${name}_pool *pool)
{
    ${name}_job job;
    size_t held;
    const int status = ${name}_layer_begin(&job, ${block and "0, " or ""}weights, cache, x, scratch, pool, &held);
    if (status != ${NAME}_OK)
        return status;
    if (pos > held || n > ${kv_capacity} - pos)
        return ${NAME}_ERROR_RANGE;
    if (n == 0)
        return ${NAME}_OK;
    job.kv = (float *)cache + ${NAME}_ALIGN / sizeof(float);
    ${name}_layer_keys(&job, pool, x, pos, 0, n, 0);
    ${name}_cache_set(cache, pos + n);
    return ${NAME}_OK;
}

$ end
$ if block then
/* The layer, or (`whole`) the block. */
static int ${name}_run_layer(int whole, const void *weights, ${cache_parameter}, ${pos_parameter}size_t n, const float *x,
    ${layer_parameters}float *y, void *scratch, const ${name}_pool *pool)
{
$ else
int ${name}_layer(const void *weights, ${cache_parameter}, ${pos_parameter}size_t n, const float *x, ${layer_parameters}float *y,
    void *scratch, const ${name}_pool *pool)
{
$ end
    ${name}_job job;
    size_t held;
    int status;
    if (y == NULL)
        return ${NAME}_ERROR_NULL;
$ check_extras(layer_extras)
    status = ${name}_layer_begin(&job, ${block and "whole, " or ""}weights, cache, x, scratch, pool, &held);
    if (status != ${NAME}_OK)
        return status;
$ if shape.cross then
    if (n > ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ check_strides(layer_extras, "held")
    job.call.kv = (const float *)cache + ${NAME}_ALIGN / sizeof(float);
    job.call.n_kv = held;
$ take_layer_extras()
    ${name}_layer_results(&job, pool, x, 0, 0, n, 0, y);
$ else
    if (pos > held || n > ${NAME}_CAPACITY - pos)
        return ${NAME}_ERROR_RANGE;
$ if shape.exact then
    if (cache == NULL && n != ${NAME}_CAPACITY)
        return ${NAME}_ERROR_RANGE;
$ end
$ check_strides(layer_extras, "pos + n")
$ if ring then
    if (cache != NULL) {
        const size_t first = ${name}_cache_first(cache);
        if (${name}_lacks_keys(pos, pos < first ? pos : first))
            return ${NAME}_ERROR_RANGE;
    }
$ end
$ if rope_switches then
    /* Keys of a short sequence cannot be those of a long one. */
    job.is_long = cache != NULL ? ${name}_cache_is_long(cache) : n > ${NAME}_ROPE_ORIGINAL;
    if (pos + n > ${NAME}_ROPE_ORIGINAL && !job.is_long)
        return ${NAME}_ERROR_RANGE;
$ end
    if (n == 0)
        return ${NAME}_OK;

    if (cache != NULL) {
        job.kv = (float *)cache + ${NAME}_ALIGN / sizeof(float);
    } else {
        job.kv = job.scratch;
        job.scratch += (size_t)${NAME}_KV_HEADS * ${NAME}_HEAD_FLOATS;
    }
    job.call.kv = job.kv;
$ if ring then
    job.call.ring = cache != NULL;
    if (cache != NULL)
        job.call.kv_stride = ${NAME}_CACHE_HEAD_FLOATS;
$ end
$ if shape.mla then
    job.early = pos > 0 ? 0 : n < ${NAME}_MLA_EXPAND ? n : ${NAME}_MLA_EXPAND;
    job.latent = cache != NULL || job.early < n;
$ end
$ take_layer_extras()

$ local set_cache = ("%s_cache_set(cache, %spos + n%s);"):format(name, ring and "held_first, " or "", rope_switches and ", job.is_long" or "")
$ -- whether all queries come with the keys; the latent's come apart
$ local function together(text) return shape.mla and "" or ", " .. text end
$ if ring then
$   -- rows of a piece: whole chunks of the layer's where there is room for one
$   local chunk = layout.cache.chunk
$   local piece = chunk < rows and chunk or chunk // rows * rows
    if (cache != NULL) { /* piece by piece: none overwrites a key that a row before it sees; x may be y */
        const size_t held_first = ${name}_cache_first_after(cache, pos, n);
$   if reach == 1 then
        for (size_t first = 0; first < n; first += ${piece}) {
            const size_t end = n - first < ${piece} ? n : first + ${piece};
$     if not shape.mla then
            const int queries = end - first <= ${rows};
$     end
            ${name}_layer_keys(&job, pool, x, pos, first, end${together "queries"});
            ${name}_layer_results(&job, pool, x, pos, first, end${together "queries"}, y);
        }
$   else
        for (size_t first = 0, packed = 0; first < n; first += ${piece}) {
            const size_t end = n - first < ${piece} ? n : first + ${piece};
            const size_t keys = n - end < ${reach - 1} ? n : end + ${reach - 1}; /* that the last row sees */
            ${name}_layer_keys(&job, pool, x, pos, packed, keys, 0);
            ${name}_layer_results(&job, pool, x, pos, first, end, 0, y);
            packed = keys;
        }
$   end
        ${set_cache}
        return ${NAME}_OK;
    }
$ end
    /* All keys and values first, then the results: x may be y. */
    ${name}_layer_keys(&job, pool, x, pos, 0, n${together("n <= " .. rows)});
$ if not ring then
    if (cache != NULL)
        ${set_cache}
$ end
    ${name}_layer_results(&job, pool, x, pos, 0, n${together("n <= " .. rows)}, y);
$ end
    return ${NAME}_OK;
}
$ end
