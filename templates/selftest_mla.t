$ -- The selftest's reference of a layer with keys and values from a latent: selftest.t holds what it
$ -- builds on.
$ local block = shape.block
$ local with_parts = block and ", const parts *own" or ""
$ local log_sums = shape.lse and "log_sums, " or ""
$ local in_out = shape.weights_layout == "in_out"
$ local rotated = rope_switches and ", n" or ""
/* The part of kv_b_proj that takes channel r of c to output o. */
static float *part_of_b(const matrices *w, size_t o, size_t r)
{
    return w->kv_b_proj + ${in_out and "r * B_ROW + o" or "o * KV_RANK + r"};
}

/* sum over i of weight(i) x[i] in one chain; weights lie `step` apart. */
static estimate chain(const estimate *x, const float *w, size_t step, size_t count)
{
    estimate sum = {0.0, 0.0};
    size_t i;
    for (i = 0; i < count; i++) {
        const double weight = (double)w[i * step], product = weight * x[i].value;
        sum.value += product;
        sum.variance += sum.value * sum.value + x[i].variance * weight * weight + apart * product * product;
    }
    return sum;
}

/* [c, k_pe] of row i of n. */
static void reference_latent(const estimate *x, const matrices *w, size_t i${rope_switches and ", size_t n" or ""}, estimate *latent)
{
    reference_project(x, D_MODEL, w->kv_a_proj, w->kv_a_bias, K_ROW, latent);
    reference_norm(latent, KV_RANK, 0, ${NAME}_MLA_EPS, w->kv_a_layernorm, 0.0, NULL);
    reference_rope(latent + KV_RANK, 1, i${rotated});
}

/* q of row i of n: [HEADS][EXPANDED_HEAD_DIM]. */
static void reference_query(const estimate *x, const matrices *w, size_t i${rope_switches and ", size_t n" or ""}, estimate *q)
{
    size_t h;
$ if shape.mla.q_rank then
    estimate *low = (estimate *)allocate(Q_RANK * sizeof(estimate));
    reference_project(x, D_MODEL, w->q_a_proj, w->q_a_bias, Q_RANK, low);
    reference_norm(low, Q_RANK, 0, ${NAME}_MLA_EPS, w->q_a_layernorm, 0.0, NULL);
    reference_project(low, Q_RANK, w->q_b_proj, NULL, EXPANDED_Q_ROW, q);
    free(low);
$ else
    reference_project(x, D_MODEL, w->q_b_proj, NULL, EXPANDED_Q_ROW, q);
$ end
    for (h = 0; h < HEADS; h++)
        reference_rope(q + h * EXPANDED_HEAD_DIM + NOPE_DIM, 1, i${rotated});
}

/* Keys and values of the heads from [c, k_pe]. */
static void reference_expand(const estimate *latent, const matrices *w, estimate *k, estimate *v)
{
    const size_t step = ${in_out and "B_ROW" or "1"};
    size_t h, d;
    for (h = 0; h < HEADS; h++) {
        const size_t first = h * (NOPE_DIM + EXPANDED_V_HEAD_DIM);
        for (d = 0; d < NOPE_DIM; d++)
            *k++ = chain(latent, part_of_b(w, first + d, 0), step, KV_RANK);
        for (d = 0; d < ROPE_DIM; d++)
            *k++ = latent[KV_RANK + d];
        for (d = 0; d < EXPANDED_V_HEAD_DIM; d++)
            *v++ = chain(latent, part_of_b(w, first + NOPE_DIM + d, 0), step, KV_RANK);
    }
}

/* The latent form: outputs of the heads of row i of n. */
static void reference_on_latents(const estimate *q, const estimate *latents, const matrices *w, size_t i,
                                 size_t n, estimate *mixed)
{
    estimate *absorbed = (estimate *)allocate(Q_ROW * sizeof(estimate));
    estimate *c = (estimate *)allocate(n * V_ROW * sizeof(estimate));
    estimate *sums = (estimate *)allocate(O_ROW * sizeof(estimate));
$ if shape.lse then
    estimate log_sums[HEADS]; /* not an output of a layer */
$ end
    size_t h, d;
    for (d = 0; d < n; d++)
        memcpy(c + d * V_ROW, latents + d * K_ROW, V_ROW * sizeof *c);
    for (h = 0; h < HEADS; h++) {
        const size_t first = h * (NOPE_DIM + EXPANDED_V_HEAD_DIM);
        const estimate *head = q + h * EXPANDED_HEAD_DIM;
        for (d = 0; d < KV_RANK; d++)
            absorbed[h * HEAD_DIM + d] = chain(head, part_of_b(w, first, d), ${in_out and "1" or "KV_RANK"}, NOPE_DIM);
        memcpy(absorbed + h * HEAD_DIM + KV_RANK, head + NOPE_DIM, ROPE_DIM * sizeof *absorbed);
    }
    reference_row(absorbed - i * Q_ROW, latents, c, i, n, n, ${log_sums}sums);
    for (h = 0; h < HEADS; h++)
        for (d = 0; d < EXPANDED_V_HEAD_DIM; d++)
            *mixed++ = chain(sums + h * V_HEAD_DIM,
                             part_of_b(w, h * (NOPE_DIM + EXPANDED_V_HEAD_DIM) + NOPE_DIM + d, 0),
                             ${in_out and "B_ROW" or "1"}, KV_RANK);
    free(absorbed);
    free(c);
    free(sums);
}

/* Compares rows of y = layer(x), n positions from 0 on, `step` apart, of which the first `together`
 * came in one call: the values are those of the definition, with keys and values of each head, the
 * errors those of the form that computes the row.${block and " With `own` it is a block." or ""} */
static void check_layer(const float *got, const float *x, const matrices *w${with_parts}, size_t n, size_t step,
                        size_t together, const char *what)
{
    estimate *in = exact(x, n * D_MODEL);
$ if block then
    estimate *residual = exact(x, n * D_MODEL);
$ end
    estimate *latents = (estimate *)allocate(n * K_ROW * sizeof(estimate));
    estimate *q = (estimate *)allocate(n * EXPANDED_Q_ROW * sizeof(estimate));
    estimate *k = (estimate *)allocate(n * EXPANDED_K_ROW * sizeof(estimate));
    estimate *v = (estimate *)allocate(n * EXPANDED_V_ROW * sizeof(estimate));
    estimate *mixed = (estimate *)allocate(EXPANDED_O_ROW * sizeof(estimate));
    estimate *latent = (estimate *)allocate(EXPANDED_O_ROW * sizeof(estimate));
    estimate *y = (estimate *)allocate(D_MODEL * sizeof(estimate));
$ if shape.lse then
    estimate log_sums[HEADS]; /* not an output of a layer */
$ end
    int good = 1;
    size_t i, d;
    for (i = 0; i < n; i++) {
$ if block and memory.block_offsets.attention_norm then
        if (own != NULL)
            norm_of(own, 0, in + i * D_MODEL);
$ end
        reference_latent(in + i * D_MODEL, w, i${rotated}, latents + i * K_ROW);
        reference_expand(latents + i * K_ROW, w, k + i * EXPANDED_K_ROW, v + i * EXPANDED_V_ROW);
    }
    for (i = 0; i < n; i += step) {
        reference_query(in + i * D_MODEL, w, i${rotated}, q + i * EXPANDED_Q_ROW);
        reference_expanded_row(q, k, v, i, n, n, ${log_sums}mixed);
        if (i >= together || i >= (size_t)${NAME}_MLA_EXPAND) {
            reference_on_latents(q + i * EXPANDED_Q_ROW, latents, w, i, n, latent);
            for (d = 0; d < EXPANDED_O_ROW; d++)
                mixed[d].variance = latent[d].variance;
        }
        reference_project(mixed, EXPANDED_O_ROW, w->o_proj, w->o_bias, D_MODEL, y);
$ if block then
        if (own != NULL)
            finish_block(own, residual + i * D_MODEL, in + i * D_MODEL, y);
$ end
        good = close_to(got + i * D_MODEL, y, D_MODEL) && good;
    }
    check(good, what);
$ if block then
    free(residual);
$ end
    free(in);
    free(latents);
    free(q);
    free(k);
    free(v);
    free(mixed);
    free(latent);
    free(y);
}

