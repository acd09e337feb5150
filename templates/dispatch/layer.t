$ -- The layer: its packed weights; keys, values and results of its rows, where these are projections (mla.t
$ -- has those with a latent, layer_calls.t the calls).
$ if shape.emit ~= "attention" then
$ local source_width = NAME .. (shape.cross and "_SOURCE_D_MODEL" or "_D_MODEL")
$ local w, rows = memory.weight_offsets, layout.layer_rows
$ local block = shape.block
$ local gated = block and block.gated
$ -- What the calls on q, k and v take besides and a layer has among its weights: packed, taken from there.
$ function pack_extras()
$   for _, extra in ipairs(packed) do
    memset(packed + ${w[extra.name]}, 0, ${plan.ceil_to(extra.floats, plan.ALIGN // 4)} * sizeof(float));
    memcpy(packed + ${w[extra.name]}, source->${extra.name}, ${extra.floats} * sizeof(float));
$   end
$ end
$ -- What a call takes besides for each of its rows: from row `first` of the layer's on.
$ function take_extras_of_rows()
$   for _, extra in ipairs(layer_extras) do
$     if extra.row_step then
        job->call.${extra.name} = job->${extra.name} != NULL ? job->${extra.name} + first * job->call.${extra.row_step} : NULL;
$     end
$   end
$ end

/* ---- layer ---- */

static const uint64_t ${name}_weights_mark = UINT64_C(0x${mark.weights});
$ if block then
static const uint64_t ${name}_block_mark = UINT64_C(0x${mark.block});
$ end

$ local in_out = shape.weights_layout == "in_out"
$ local gap = gated and ", size_t gap" or ""
/* Packs `columns` outputs of `depth` inputs: panels of ${plan.PANEL} columns, each with its bias (if `has_bias`)
 * and then [depth][${plan.PANEL}]; columns past the last are zero.${gated and " `gap` floats are left between panels." or ""} */
$ if shape.mla then
static void ${name}_pack_part(const float *w, size_t column_step, size_t input_step, const float *bias,
    int has_bias, size_t columns, size_t depth, float *packed${gap})
$ else
static void ${name}_pack_matrix(const float *w, const float *bias, int has_bias, size_t columns,
    size_t depth, float *packed${gap})
$ end
{
    for (size_t first = 0; first < columns; first += ${plan.PANEL}${gated and ", packed += gap" or ""})
        for (size_t row = has_bias ? 0 : 1; row <= depth; row++, packed += ${plan.PANEL})
            for (size_t c = 0; c < ${plan.PANEL}; c++) {
                const size_t column = first + c;
                if (column >= columns)
                    packed[c] = 0.0f;
                else if (row == 0)
                    packed[c] = bias[column];
                else
$ if shape.mla then
                    packed[c] = w[column * column_step + (row - 1) * input_step];
$ elseif in_out then
                    packed[c] = w[(row - 1) * columns + column];
$ else
                    packed[c] = w[column * depth + row - 1];
$ end
            }
}

$ if shape.mla then
/* The same of a whole matrix of the model. */
static void ${name}_pack_matrix(const float *w, const float *bias, int has_bias, size_t columns,
    size_t depth, float *packed${gap})
{
    ${name}_pack_part(w, ${in_out and "1, columns" or "depth, 1"}, bias, has_bias, columns, depth, packed${gated and ", gap" or ""});
}

$ end
$ if shape.qk_norm or shape.mla or block then
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
$ if not shape.mla then
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
$ for _, extra in ipairs(packed) do
    if (source->${extra.name} == NULL)
        return ${NAME}_ERROR_NULL;
$ end
    if (!${name}_aligned(weights))
        return ${NAME}_ERROR_ALIGN;
$ local function bias(which, on) return on and "source->" .. which or "NULL" end
$ local no_gap = gated and ", 0" or ""
$ local b, bo = shape.qkv_bias and 1 or 0, shape.o_bias and 1 or 0
    ${name}_pack_matrix(source->wq, ${bias("bq", shape.qkv_bias)}, ${b}, ${layout.q_width}, ${NAME}_D_MODEL, packed${no_gap});
    ${name}_pack_matrix(source->wk, ${bias("bk", shape.qkv_bias)}, ${b}, ${layout.k_width}, ${source_width}, packed + ${w.wk}${no_gap});
    ${name}_pack_matrix(source->wv, ${bias("bv", shape.qkv_bias)}, ${b}, ${layout.v_width}, ${source_width}, packed + ${w.wv}${no_gap});
    ${name}_pack_matrix(source->wo, ${bias("bo", shape.o_bias)}, ${bo}, ${NAME}_D_MODEL, ${layout.o_width}, packed + ${w.wo}${no_gap});
$ for _, which in ipairs(shape.qk_norm and { "q_norm", "k_norm" } or {}) do
$   local packed = layout[which]
    ${name}_pack_norm(source->${which}, ${shape.qk_norm.unit_offset and "1.0f" or "-0.0f"}, ${packed.count}, ${packed.width}, packed + ${w[which]});
$   if shape.qk_norm.bias then
    ${name}_pack_norm(source->${which}_bias, -0.0f, ${packed.count}, ${packed.width}, packed + ${w[which] + packed.bias});
$   end
$ end
$ pack_extras()
    memset(weights, 0, ${NAME}_ALIGN);
    memcpy(weights, &${name}_weights_mark, sizeof ${name}_weights_mark);
    return ${NAME}_OK;
}

/* One thread's share of the panels of one projection. */
$ local of_keys = shape.cross and "project_source" or "project_in"
typedef void ${name}_projection(const float *x, size_t n, const float *w, size_t columns, size_t first,
    size_t count, float *y);

static void ${name}_project(const ${name}_job *job, size_t index, ${name}_projection *run, const float *w,
    size_t columns, float *y)
{
    const size_t panels = (columns + ${plan.PANEL - 1}) / ${plan.PANEL};
    const size_t first = ${name}_share(panels, index, job->threads);
    const size_t count = ${name}_share(panels, index + 1, job->threads) - first;
    if (y != NULL && count > 0)
        run(job->x, job->n, w, columns, first, count, y);
}

static void ${name}_project_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    ${name}_project(job, index, job->kernels->project_in, job->weights, ${layout.q_width}, job->q_rows);
    ${name}_project(job, index, job->kernels->${of_keys}, job->weights + ${w.wk}, ${layout.k_width}, job->k_rows);
    ${name}_project(job, index, job->kernels->${of_keys}, job->weights + ${w.wv}, ${layout.v_width}, job->v_rows);
    ${name}_project(job, index, job->kernels->project_out, job->weights + ${w.wo}, ${NAME}_D_MODEL, job->y);
}
$ -- what becomes of projected q, k and v
$ local prepares = shape.rope or shape.qk_norm or shape.clip_qkv
$ local prepare = (shape.qk_norm or shape.clip_qkv) and "prepare" or "rotate"
$ if prepares then
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

/* Items: rows of the chunk. Queries and keys${shape.clip_qkv and " and values" or ""}, whichever there are. */
static void ${name}_${prepare}_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t first = ${name}_share(job->n, index, job->threads);
    const size_t count = ${name}_share(job->n, index + 1, job->threads) - first;
$   if shape.qk_norm and not after then norms() end
$   for _, which in ipairs(shape.clip_qkv and { "q", "k", "v" } or {}) do
    if (job->${which}_rows != NULL)
        job->kernels->clip(job->${which}_rows + first * ${layout[which .. "_width"]}, count * ${layout[which .. "_width"]});
$   end
$   if shape.rope then
    if (job->q_rows != NULL)
        job->kernels->rotate(job->q_rows + first * ${layout.q_width}, count, ${NAME}_HEADS, job->pos + first${long});
    if (job->k_rows != NULL)
        job->kernels->rotate(job->k_rows + first * ${layout.k_width}, count, ${NAME}_KV_HEADS, job->pos + first${long});
$   end
$   if after then norms() end
}
$ end

/* Keys and values of the rows first .. end - 1 of a call of the layer, some at a time, into the cache
 * or the scratch; row 0 stands at position pos. With `queries` (no more rows than are taken at a
 * time) their queries too, which job->rows then begins with. */
static void ${name}_layer_keys(${name}_job *job, const ${name}_pool *pool, const float *x, size_t pos,
    size_t first, size_t end, int queries)
{
    for (; first < end; first += job->n) {
        job->x = x + first * ${source_width};
        job->n = end - first < ${rows} ? end - first : ${rows};
$ if block and not shape.cross then
        if (job->whole)
            ${name}_enter(pool, job);
$ end
        job->q_rows = queries ? job->rows : NULL;
        job->k_rows = job->rows + ${rows * layout.q_width};
        job->v_rows = job->k_rows + ${rows * layout.k_width};
        job->y = NULL;
        ${name}_run(pool, ${name}_project_task, job);
        job->pos = pos + first;
$ if prepares then
        ${name}_run(pool, ${name}_${prepare}_task, job);
$ end
        job->k = job->k_rows;
        job->v = job->v_rows;
        job->call.n_kv = job->pos + job->n;
        ${name}_run(pool, ${name}_pack_task, job);
    }
    job->k_rows = NULL;
    job->v_rows = NULL;
}

/* The results of the rows first .. end - 1, whose keys are there; with `queries` their queries, too. */
static void ${name}_layer_results(${name}_job *job, const ${name}_pool *pool, const float *x, size_t pos,
    size_t first, size_t end, int queries, float *y)
{
    float *const o_rows = job->rows + ${rows * (layout.q_width + layout.k_width + layout.v_width)};
    for (; first < end; first += job->n) {
        job->n = end - first < ${rows} ? end - first : ${rows};
        job->pos = pos + first;
        if (!queries) {
            job->x = x + first * ${NAME}_D_MODEL;
$ if block then
            if (job->whole)
                ${name}_enter(pool, job);
$ end
            job->q_rows = job->rows;
            ${name}_run(pool, ${name}_project_task, job);
$ if prepares then
            ${name}_run(pool, ${name}_${prepare}_task, job);
$ end
        }
        job->call.q = job->rows;
        job->call.out = o_rows;
        job->call.n = job->n;
        job->call.pos = (ptrdiff_t)job->pos;
$ take_extras_of_rows()
        ${name}_run(pool, ${name}_attend_task, job);
        job->q_rows = NULL;
        job->x = o_rows;
$ if block then
        job->sum = y + first * ${NAME}_D_MODEL;
        job->y = job->whole ? job->part : job->sum;
$ else
        job->y = y + first * ${NAME}_D_MODEL;
$ end
        ${name}_run(pool, ${name}_project_task, job);
        job->y = NULL;
$ if block then
        if (job->whole)
            ${name}_leave(pool, job);
$ end
    }
}
$ end
$ end
