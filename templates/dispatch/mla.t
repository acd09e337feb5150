$ -- The layer with keys and values from a latent: gen/mla.lua has its two forms, plan.mla_layer where
$ -- its weights and rows lie.
$ if shape.mla then
$ local own, d, heads = shape.mla, shape.d_model, shape.heads
$ local expanded, step = mla_layer.expanded, mla_layer.step
$ local w, r = mla_layer.weights, mla_layer.rows
$ local latent = shape.head_dim
$ local long = rope_switches and ", job->is_long" or ""
int ${name}_pack_weights(const ${name}_weights *source, void *weights)
{
    float *const packed = (float *)weights + (weights != NULL ? ${NAME}_ALIGN / sizeof(float) : 0);
$ local needed = { "kv_a_proj_with_mqa", "kv_a_layernorm", "kv_b_proj", "o_proj" }
$ local function need(name, on) if on then needed[#needed + 1] = name end end
$ need("q_proj", not own.q_rank)
$ for _, name in ipairs { "q_a_proj", "q_a_layernorm", "q_b_proj" } do need(name, own.q_rank) end
$ need("q_a_proj_bias", own.q_rank and shape.qkv_bias)
$ need("kv_a_proj_bias", shape.qkv_bias)
$ need("o_proj_bias", shape.o_bias)
$ for _, extra in ipairs(packed) do need(extra.name, true) end
    if (source == NULL || weights == NULL)
        return ${NAME}_ERROR_NULL;
$ for _, name in ipairs(needed) do
    if (source->${name} == NULL)
        return ${NAME}_ERROR_NULL;
$ end
    if (!${name}_aligned(weights))
        return ${NAME}_ERROR_ALIGN;
$ -- Packs a matrix that is a model's, or a part of one: outputs and inputs lie so far apart in it.
$ local function pack(matrix, source, bias, column_step, input_step)
    ${name}_pack_matrix(${source}, ${column_step}, ${input_step}, ${bias and "source->" .. bias or "NULL"}, ${bias and 1 or 0}, ${matrix.columns}, ${matrix.depth},
        ${matrix.heads > 1 and ("packed + %d + head * %d"):format(matrix.offset, matrix.stride) or ("packed + %d"):format(matrix.offset)});
$ end
$ local in_out = shape.weights_layout == "in_out"
$ local function pack_whole(which, source, bias)
$   local matrix = w.matrices[which]
$   pack(matrix, "source->" .. source, matrix.bias and bias, in_out and 1 or matrix.depth, in_out and matrix.columns or 1)
$ end
$ if own.q_rank then
$   pack_whole("q_a", "q_a_proj", "q_a_proj_bias")
$   pack_whole("q", "q_b_proj")
$ else
$   pack_whole("q", "q_proj")
$ end
$ pack_whole("kv_a", "kv_a_proj_with_mqa", "kv_a_proj_bias")
$ pack_whole("o", "o_proj", "o_proj_bias")
$ local both = own.nope_dim + expanded.v_head_dim
$ local columns, inputs = in_out and 1 or own.kv_rank, in_out and heads * both or 1
    for (size_t head = 0; head < ${heads}; head++) { /* the keys' part, once more transposed; the values' */
        const float *const keys = source->kv_b_proj + head * ${both * columns};
$ pack(w.matrices.k_b, "keys", nil, columns, inputs)
$ pack(w.matrices.absorb, "keys", nil, inputs, columns)
$ pack(w.matrices.v_b, ("keys + %d"):format(own.nope_dim * columns), nil, columns, inputs)
    }
    ${name}_pack_norm(source->kv_a_layernorm, -0.0f, 1, ${own.kv_rank}, packed + ${w.kv_norm});
$ if own.q_rank then
    ${name}_pack_norm(source->q_a_layernorm, -0.0f, 1, ${own.q_rank}, packed + ${w.q_norm});
$ end
$ pack_extras()
    memset(weights, 0, ${NAME}_ALIGN);
    memcpy(weights, &${name}_weights_mark, sizeof ${name}_weights_mark);
    return ${NAME}_OK;
}

typedef void ${name}_projection(const float *x, size_t n, const float *w, size_t columns, size_t first,
    size_t count, float *y);

/* One thread's share of a product: the panels of `heads` matrices of `stride` floats, whose x and y
 * lie so far apart. */
static void ${name}_project(const ${name}_job *job, size_t index, ${name}_projection *projection,
    const float *x, size_t x_head, const float *w, size_t stride, size_t columns, size_t heads,
    float *y, size_t y_head)
{
    const size_t panels = (columns + ${plan.PANEL - 1}) / ${plan.PANEL};
    const size_t end = ${name}_share(panels * heads, index + 1, job->threads);
    size_t count;
    for (size_t item = ${name}_share(panels * heads, index, job->threads); item < end; item += count) {
        const size_t head = item / panels, first = item % panels;
        count = panels - first < end - item ? panels - first : end - item;
        projection(x + head * x_head, job->n, w + head * stride, columns, first, count, y + head * y_head);
    }
}
$ local products = {}
$ for _, product in ipairs(mla_products) do products[product.name] = product end
$ local function project(which, x, y)
$   local product = products[which]
$   local matrix = w.matrices[product.matrix]
    ${name}_project(job, index, job->kernels->project_${which}, ${x}, ${product.x_head}, job->weights + ${matrix.offset}, ${matrix.stride}, ${matrix.columns}, ${matrix.heads},
        ${y}, ${product.y_head});
$ end
$ local function rows(which, of) return ("%srows + %d"):format(of or "job->", r[which]) end
$ local function task(about, which, body)

/* ${about} */
static void ${name}_${which}_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
$   body()
}
$ end
$ -- One thread's share of the rows of a chunk.
$ local function share()
    const size_t first = ${name}_share(job->n, index, job->threads);
    const size_t count = ${name}_share(job->n, index + 1, job->threads) - first;
$ end
$ attention_tasks("expanded_", "1", tostring(heads), tostring(expanded.head_dim), tostring(expanded.v_head_dim),
$   tostring(mla_layer.expanded_layout.head_floats))
$ task("[c, k_pe] = Wkva x", "latents", function()
$   project("kv_a", "job->x", rows "kv_a")
$ end)
$ task("c is normed, k_pe turns.", "finish_latents", function()
$   share()
    float *const latents = ${rows "kv_a"} + first * ${latent};
    job->kernels->norm_kv(latents, count, job->weights + ${w.kv_norm});
    job->kernels->rotate(latents + ${own.kv_rank}, count, 1, ${latent}, job->pos + first${long});
$ end)
$ task("k and v of the heads = Wkb c, Wvb c", "expand", function()
$   project("k_b", rows "kv_a", rows "k")
$   project("v_b", rows "kv_a", rows "v")
$ end)
$ local function turning(from, to, turned_from, row_from, turned_to, to_stride)
    for (size_t row = first; row < first + count; row++)
        for (size_t head = 0; head < ${heads}; head++)
            memcpy(${rows(to)} + (row * ${heads} + head) * ${to_stride} + ${turned_to},
                ${rows(from)} + ${row_from} + ${turned_from}, ${own.rope_dim} * sizeof(float));
$ end
$ task("k of each head ends with k_pe.", "finish_keys", function()
$   share()
$   turning("kv_a", "k", own.kv_rank, ("row * %d"):format(latent), own.nope_dim, expanded.head_dim)
$ end)
$ if own.q_rank then
$   task("The latents of q = Wqa x", "latents_of_q", function()
$     project("q_a", "job->x", rows "q_a")
$   end)
$   task("They are normed.", "finish_latents_of_q", function()
$     share()
    job->kernels->norm_q(${rows "q_a"} + first * ${own.q_rank}, count, job->weights + ${w.q_norm});
$   end)
$ end
$ task(own.q_rank and "q = Wqb of its latents" or "q = Wq x", "queries", function()
$   project("q", own.q_rank and rows "q_a" or "job->x", rows "q")
$ end)
$ task("The last channels of its heads turn.", "finish_queries", function()
$   share()
    job->kernels->rotate(${rows "q"} + first * ${heads * expanded.head_dim} + ${own.nope_dim}, count, ${heads}, ${expanded.head_dim}, job->pos + first${long});
$ end)
$ task("q' = [Wkb^T q_nope, q_pe]", "absorb", function()
$   project("absorb", rows "q", rows "latent_q")
    {
$   share()
$   turning("q", "latent_q", own.nope_dim, ("(row * %d + head) * %d"):format(heads, expanded.head_dim), own.kv_rank, latent)
    }
$ end)
$ task("Outputs of the heads = Wvb of sums of c", "values", function()
$   project("value", rows "latent_o", rows "o")
$ end)
$ task("y = Wo of the outputs", "output", function()
$   project("o", rows "o", "job->y")
$ end)

int ${name}_layer(const void *weights, void *cache, size_t pos, size_t n, const float *x, ${layer_parameters}float *y,
    void *scratch, const ${name}_pool *pool)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    /* rows of the call that have expanded keys and values */
    const size_t early = pos > 0 ? 0 : n < ${NAME}_MLA_EXPAND ? n : ${NAME}_MLA_EXPAND;
    const size_t step = ${step};
    ${name}_job job;
    ${name}_call latent_call, expanded_call;
    float *latents;
    size_t held = 0;
    int status;
    uint64_t mark;
    memset(&job, 0, sizeof job);
    if (weights == NULL || x == NULL || y == NULL || scratch == NULL)
        return ${NAME}_ERROR_NULL;
$ check_extras(layer_extras)
    if (!${name}_aligned(weights))
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
    memcpy(&mark, weights, sizeof mark);
    if (mark != ${name}_weights_mark)
        return ${NAME}_ERROR_WEIGHTS;
    status = ${name}_check_run(kernels, scratch, pool);
    if (status != ${NAME}_OK)
        return status;
    if (n == 0)
        return ${NAME}_OK;

    job.kernels = kernels;
    job.threads = ${name}_threads(pool);
    job.weights = (const float *)weights + ${NAME}_ALIGN / sizeof(float);
    job.rows = (float *)scratch; /* expanded keys and values come first */
    job.scratch = job.rows + ${NAME}_LAYER_BYTES / sizeof(float);
    latents = cache != NULL ? (float *)cache + ${NAME}_ALIGN / sizeof(float) : job.scratch;
    if (cache == NULL)
        job.scratch += ${NAME}_HEAD_FLOATS;
$ take_packed_extras("job.")
$ take_extras(layer_extras)
    expanded_call = latent_call = job.call;
    expanded_call.kv = job.rows;
    expanded_call.kv_stride = ${mla_layer.expanded_layout.head_floats};
    expanded_call.q = ${rows("q", "job.")};
    expanded_call.out = ${rows("o", "job.")};
    latent_call.kv = latents;
    latent_call.kv_stride = ${NAME}_HEAD_FLOATS;
    latent_call.q = ${rows("latent_q", "job.")};
    latent_call.out = ${rows("latent_o", "job.")};

    /* All keys and values first, then the queries: x may be y. */
    for (size_t first = 0; first < n; first += job.n) {
        job.x = x + first * ${d};
        job.n = n - first < step ? n - first : step;
        job.pos = pos + first;
        ${name}_run(pool, ${name}_latents_task, &job);
        ${name}_run(pool, ${name}_finish_latents_task, &job);
        if (cache != NULL || early < n) {
            job.k = ${rows("kv_a", "job.")};
            job.kv = latents;
            job.call.n_kv = job.pos + job.n;
            ${name}_run(pool, ${name}_pack_task, &job);
        }
        if (first < early) {
            const size_t rest = early - first;
            ${name}_run(pool, ${name}_expand_task, &job);
            ${name}_run(pool, ${name}_finish_keys_task, &job);
            job.k = ${rows("k", "job.")};
            job.v = ${rows("v", "job.")};
            job.kv = job.rows;
            job.call.n_kv = first + (job.n < rest ? job.n : rest);
            ${name}_run(pool, ${name}_expanded_pack_task, &job);
        }
    }
    if (cache != NULL)
        ${name}_cache_set(cache, pos + n${rope_switches and ", job.is_long" or ""});
    expanded_call.n_kv = early;
    latent_call.n_kv = pos + n;
    for (size_t first = 0; first < n; first += job.n) {
        const int is_early = first < early;
        const size_t most = is_early ? ${step} : ${mla_layer.latent_step};
        const size_t rest = (is_early ? early : n) - first; /* rows of one form */
        job.x = x + first * ${d};
        job.n = rest < most ? rest : most;
        job.pos = pos + first;
        job.call = is_early ? expanded_call : latent_call;
        job.call.n = job.n;
        job.call.pos = (ptrdiff_t)job.pos;
$ if own.q_rank then
        ${name}_run(pool, ${name}_latents_of_q_task, &job);
        ${name}_run(pool, ${name}_finish_latents_of_q_task, &job);
$ end
        ${name}_run(pool, ${name}_queries_task, &job);
        ${name}_run(pool, ${name}_finish_queries_task, &job);
        if (is_early) {
            ${name}_run(pool, ${name}_expanded_attend_task, &job);
        } else {
            ${name}_run(pool, ${name}_absorb_task, &job);
            ${name}_run(pool, ${name}_attend_task, &job);
            ${name}_run(pool, ${name}_values_task, &job);
        }
        job.y = y + first * ${d};
        ${name}_run(pool, ${name}_output_task, &job);
    }
    return ${NAME}_OK;
}
$ end
