$ -- What layer.t has, with keys and values from a latent: gen/mla.lua has its two forms, plan.mla_layer
$ -- where its weights and rows lie.
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
$ -- Packs a part of a model's matrix, whose outputs and inputs lie so far apart in it; a whole one.
$ local no_gap = shape.block and shape.block.gated and ", 0" or ""
$ local function pack_part(which, source, column_step, input_step)
$   local matrix = w.matrices[which]
        ${name}_pack_part(${source}, ${column_step}, ${input_step}, NULL, 0, ${matrix.columns}, ${matrix.depth}, packed + ${matrix.offset} + head * ${matrix.stride}${no_gap});
$ end
$ local function pack_whole(which, source, bias)
$   local matrix = w.matrices[which]
    ${name}_pack_matrix(source->${source}, ${matrix.bias and "source->" .. bias or "NULL"}, ${matrix.bias and 1 or 0}, ${matrix.columns}, ${matrix.depth}, packed + ${matrix.offset}${no_gap});
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
$ local in_out = shape.weights_layout == "in_out"
$ local columns, inputs = in_out and 1 or own.kv_rank, in_out and heads * both or 1
    for (size_t head = 0; head < ${heads}; head++) { /* the keys' part, once more transposed; the values' */
        const float *const keys = source->kv_b_proj + head * ${both * columns};
$ pack_part("k_b", "keys", columns, inputs)
$ pack_part("absorb", "keys", inputs, columns)
$ pack_part("v_b", ("keys + %d"):format(own.nope_dim * columns), columns, inputs)
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
$ local function rows(which) return ("job->rows + %d"):format(r[which]) end
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

/* [c, k_pe] of the rows first .. end - 1 of a call of the layer, some at a time, into the cache or the
 * scratch, and keys and values of the expanded form; row 0 stands at position pos. */
static void ${name}_layer_keys(${name}_job *job, const ${name}_pool *pool, const float *x, size_t pos,
    size_t first, size_t end)
{
    float *const latents = job->kv;
    for (; first < end; first += job->n) {
        job->x = x + first * ${d};
        job->n = end - first < ${step} ? end - first : ${step};
        job->pos = pos + first;
$ if shape.block then
        if (job->whole)
            ${name}_enter(pool, job);
$ end
        ${name}_run(pool, ${name}_latents_task, job);
        ${name}_run(pool, ${name}_finish_latents_task, job);
        if (job->latent) {
            job->k = ${rows "kv_a"};
            job->kv = latents;
            job->call.n_kv = job->pos + job->n;
            ${name}_run(pool, ${name}_pack_task, job);
        }
        if (first < job->early) {
            const size_t rest = job->early - first;
            ${name}_run(pool, ${name}_expand_task, job);
            ${name}_run(pool, ${name}_finish_keys_task, job);
            job->k = ${rows "k"};
            job->v = ${rows "v"};
            job->kv = job->rows; /* which begins with them */
            job->call.n_kv = first + (job->n < rest ? job->n : rest);
            ${name}_run(pool, ${name}_expanded_pack_task, job);
        }
    }
    job->kv = latents;
    job->call.n_kv = pos + end; /* rows of the expanded form, which stand before its end, see no key past it */
}

/* The results of the rows first .. end - 1, whose keys are there. */
static void ${name}_layer_results(${name}_job *job, const ${name}_pool *pool, const float *x, size_t pos,
    size_t first, size_t end, float *y)
{
    for (; first < end; first += job->n) {
        const int is_early = first < job->early;
        const size_t most = is_early ? ${step} : ${mla_layer.latent_step};
        const size_t rest = (is_early && job->early < end ? job->early : end) - first; /* rows of one form */
        job->x = x + first * ${d};
        job->n = rest < most ? rest : most;
        job->pos = pos + first;
$ if shape.block then
        if (job->whole)
            ${name}_enter(pool, job);
$ end
$ if own.q_rank then
        ${name}_run(pool, ${name}_latents_of_q_task, job);
        ${name}_run(pool, ${name}_finish_latents_of_q_task, job);
$ end
        ${name}_run(pool, ${name}_queries_task, job);
        ${name}_run(pool, ${name}_finish_queries_task, job);
        job->call.n = job->n;
        job->call.pos = (ptrdiff_t)job->pos;
$ take_extras_of_rows()
        if (is_early) {
            job->call.kv = job->rows;
            job->call.kv_stride = ${mla_layer.expanded_layout.head_floats};
            job->call.q = ${rows "q"};
            job->call.out = ${rows "o"};
            ${name}_run(pool, ${name}_expanded_attend_task, job);
        } else {
            job->call.kv = job->kv; /* of the only KV head */
            job->call.q = ${rows "latent_q"};
            job->call.out = ${rows "latent_o"};
            ${name}_run(pool, ${name}_absorb_task, job);
            ${name}_run(pool, ${name}_attend_task, job);
            ${name}_run(pool, ${name}_values_task, job);
        }
$ if shape.block then
        job->sum = y + first * ${d};
        job->y = job->whole ? job->part : job->sum;
$ else
        job->y = y + first * ${d};
$ end
        ${name}_run(pool, ${name}_output_task, job);
$ if shape.block then
        if (job->whole)
            ${name}_leave(pool, job);
$ end
    }
}
$ end
