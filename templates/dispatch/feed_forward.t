$ -- What a block does around its attention: norms, residuals, the feed-forward, if it has one.
$ local block = shape.block
$ if block then
$   local w = memory.block_offsets
$   local place = block.place
$   local normed_output = place == "sandwich" or place == "res_post"
$   local function scaled(part) -- the argument that is its layer scale
$     return block.layer_scale and ("job->weights + %d, "):format(w[part .. "_scale"]) or ""
$   end

/* ---- the block around its attention ---- */

/* Items of the tasks below: rows of the chunk, or panels of a matrix. */
$   if w.attention_norm then

static void ${name}_enter_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t end = ${name}_share(job->n, index + 1, job->threads) * ${NAME}_D_MODEL;
    for (size_t at = ${name}_share(job->n, index, job->threads) * ${NAME}_D_MODEL; at < end; at += ${NAME}_D_MODEL)
        job->kernels->norm(job->residual + at, job->weights + ${w.attention_norm}, job->normed + at);
}
$   end

/* The attention's input of the chunk at job->x${w.attention_norm and ": normed" or ", as it is"}. */
static void ${name}_enter(const ${name}_pool *pool, ${name}_job *job)
{
    job->residual = job->x;
$   if w.attention_norm then
    ${name}_run(pool, ${name}_enter_task, job);
    job->x = job->normed;
$   else
    (void)pool;
$   end
}

/* From x and the attention's output to the sum of both${w.ffn_norm and ", and to the feed-forward's input" or place == "post" and block.ffn == 0 and ", normed" or ""}. */
static void ${name}_join_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const ${name}_kernels *const kernels = job->kernels;
    const size_t end = ${name}_share(job->n, index + 1, job->threads) * ${NAME}_D_MODEL;
    for (size_t at = ${name}_share(job->n, index, job->threads) * ${NAME}_D_MODEL; at < end; at += ${NAME}_D_MODEL) {
        float *const sum = job->sum + at;
$   if place == "parallel" and w.ffn_norm then
        kernels->norm(job->residual + at, job->weights + ${w.ffn_norm}, job->normed + at); /* before y overwrites x */
$   elseif normed_output then
        kernels->norm(job->part + at, job->weights + ${w.attention_post_norm}, job->part + at);
$   end
        kernels->add(job->residual + at, job->part + at, ${scaled("attention")}sum);
$   if place == "post" then
        kernels->norm(sum, job->weights + ${w.attention_post_norm}, sum);
$   elseif w.ffn_norm and place ~= "parallel" then
        kernels->norm(sum, job->weights + ${w.ffn_norm}, job->normed + at);
$   end
    }
}
$   if block.ffn > 0 then

static void ${name}_up_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t panels = (${NAME}_FFN + ${plan.PANEL - 1}) / ${plan.PANEL};
    const size_t first = ${name}_share(panels, index, job->threads);
    const size_t count = ${name}_share(panels, index + 1, job->threads) - first;
    job->kernels->project_up(${(w.ffn_norm or w.attention_norm) and "job->normed" or "job->sum"}, job->n, job->weights + ${w.up}, ${NAME}_FFN, first, count, job->inner${block.gated and (", job->scratch + index * (%s_THREAD_BYTES / sizeof(float))"):format(NAME) or ""});
}

static void ${name}_down_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const size_t panels = (${NAME}_D_MODEL + ${plan.PANEL - 1}) / ${plan.PANEL};
    const size_t first = ${name}_share(panels, index, job->threads);
    const size_t count = ${name}_share(panels, index + 1, job->threads) - first;
    job->kernels->project_down(job->inner, job->n, job->weights + ${w.down}, ${NAME}_D_MODEL, first, count, job->part);
}

/* Adds the feed-forward's output. */
static void ${name}_leave_task(void *argument, size_t index)
{
    const ${name}_job *const job = (const ${name}_job *)argument;
    const ${name}_kernels *const kernels = job->kernels;
    const size_t end = ${name}_share(job->n, index + 1, job->threads) * ${NAME}_D_MODEL;
    for (size_t at = ${name}_share(job->n, index, job->threads) * ${NAME}_D_MODEL; at < end; at += ${NAME}_D_MODEL) {
        float *const sum = job->sum + at;
$   if normed_output then
        kernels->norm(job->part + at, job->weights + ${w.ffn_post_norm}, job->part + at);
$   end
        kernels->add(sum, job->part + at, ${scaled("ffn")}sum);
$   if place == "post" then
        kernels->norm(sum, job->weights + ${w.ffn_post_norm}, sum);
$   end
    }
}
$   end

/* The rest of the block for a chunk whose attention is in job->part; y is job->sum. */
static void ${name}_leave(const ${name}_pool *pool, ${name}_job *job)
{
    ${name}_run(pool, ${name}_join_task, job);
$   if block.ffn > 0 then
    ${name}_run(pool, ${name}_up_task, job);
    ${name}_run(pool, ${name}_down_task, job);
    ${name}_run(pool, ${name}_leave_task, job);
$   end
}
$ end
