#include "mla.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t qk_dim(const struct kernel *kernel) {
    return kernel->mla->nope_dim + kernel->mla->rope_dim;
}

/* Channels of a head in kv_b_proj. */
static size_t kv_dim(const struct kernel *kernel) {
    return kernel->mla->nope_dim + kernel->mla->v_head_dim;
}

void mla_weight_sizes(const struct kernel *kernel, struct array_size sizes[ARRAYS]) {
    const struct mla *mla = kernel->mla;
    const size_t inputs = kernel->d_model, q = kernel->heads * qk_dim(kernel);
    const size_t mixed = kernel->heads * mla->v_head_dim, latent = mla->kv_rank + mla->rope_dim;
    const size_t q_inputs = mla->q_rank ? mla->q_rank : inputs;
    const struct array_size all[ARRAYS] = {
        {q * q_inputs, q_inputs},
        {latent * inputs, inputs},
        {kernel->heads * kv_dim(kernel) * mla->kv_rank, mla->kv_rank},
        {mixed * inputs, mixed},
        {kernel->qkv_bias ? mla->q_rank : 0, 3},
        {kernel->qkv_bias ? latent : 0, 3},
        {0, 1},
        {kernel->o_bias ? inputs : 0, 3},
        {mla->q_rank, 1},
        {mla->kv_rank, 1},
        {0, 1},
        {0, 1},
        {kernel->sinks ? kernel->heads : 0, 1},
        {mla->q_rank * inputs, inputs},
        {kernel->relative_buckets * kernel->heads, 1}};
    memcpy(sizes, all, sizeof all);
}

size_t mla_expansion(const struct kernel *kernel) {
    return kernel->mla->kv_rank * kernel->heads * kv_dim(kernel);
}

/* Latents [n][kv_rank + rope_dim] of all positions: those before the rows are given. */
static struct bounded *latents_of(const struct problem *problem, const struct bounded *x) {
    const struct kernel *kernel = problem->kernel;
    const struct mla *mla = kernel->mla;
    const size_t width = mla->kv_rank + mla->rope_dim, before = problem->n - problem->rows;
    struct bounded *made = make(problem->n * width, sizeof *made);
    reference_load(problem->k, before * width, made);
    reference_project(kernel, problem->weights.wk, problem->weights.bk, kernel->weights_in_out, x,
                      problem->rows, kernel->d_model, width, made + before * width);
    for (size_t i = before; i < problem->n; i++) {
        struct bounded *row = made + i * width;
        reference_rmsnorm(kernel, problem->weights.k_norm, mla->eps, row, mla->kv_rank);
        reference_rope(kernel, row + mla->kv_rank, 1, i, problem->n);
    }
    return made;
}

/* q [checked][heads][nope_dim + rope_dim] after its turn. */
static struct bounded *queries_of(const struct problem *problem, const struct bounded *x) {
    const struct kernel *kernel = problem->kernel;
    const struct mla *mla = kernel->mla;
    const struct weights *w = &problem->weights;
    const size_t rows = problem->checked, width = kernel->d_model, rank = mla->q_rank;
    const size_t q_width = kernel->heads * qk_dim(kernel);
    struct bounded *low = make(rows * rank, sizeof *low);
    struct bounded *q = make(rows * q_width, sizeof *q);
    x += (problem->rows - rows) * width;
    if (rank)
        reference_project(kernel, w->wq_a, w->bq, kernel->weights_in_out, x, rows, width, rank,
                          low);
    for (size_t i = 0; i < rows && rank; i++)
        reference_rmsnorm(kernel, w->q_norm, mla->eps, low + i * rank, rank);
    reference_project(kernel, w->wq, NULL, kernel->weights_in_out, rank ? low : x, rows,
                      rank ? rank : width, q_width, q);
    for (size_t i = 0; i < rows * kernel->heads; i++)
        reference_rope(kernel, q + i * qk_dim(kernel) + mla->nope_dim, 1,
                       problem->n - rows + i / kernel->heads, problem->n);
    free(low);
    return q;
}

/* Outputs of the heads, [checked][heads][v_head_dim], from keys and values of each head. */
static void expanded(const struct problem *problem, const struct bounded *q,
                     const struct bounded *latents, const struct view *views, struct bounded *out) {
    const struct kernel *kernel = problem->kernel;
    const struct mla *mla = kernel->mla;
    const size_t heads = kernel->heads, dim = qk_dim(kernel), both = kv_dim(kernel);
    const size_t n = problem->n, width = mla->kv_rank + mla->rope_dim;
    struct kernel of_heads = *kernel;
    of_heads.kv_heads = heads;
    of_heads.head_dim = dim;
    of_heads.v_head_dim = mla->v_head_dim;
    struct bounded *kv = make(heads * both, sizeof *kv);
    struct bounded *k = make(n * heads * dim, sizeof *k);
    struct bounded *v = make(n * heads * mla->v_head_dim, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        const struct bounded *latent = latents + i * width;
        reference_project(kernel, problem->weights.wv, NULL, kernel->weights_in_out, latent, 1,
                          mla->kv_rank, heads * both, kv);
        for (size_t h = 0; h < heads; h++) {
            struct bounded *key = k + (i * heads + h) * dim;
            memcpy(key, kv + h * both, mla->nope_dim * sizeof *key);
            memcpy(key + mla->nope_dim, latent + mla->kv_rank, mla->rope_dim * sizeof *key);
            memcpy(v + (i * heads + h) * mla->v_head_dim, kv + h * both + mla->nope_dim,
                   mla->v_head_dim * sizeof *v);
        }
    }
    reference_attention(&of_heads, q, k, v, problem->checked, &problem->extras, views, out, NULL);
    free(kv);
    free(k);
    free(v);
}

/* The same with the keys' part of kv_b_proj on the side of q. */
static void on_latents(const struct problem *problem, const struct bounded *q,
                       const struct bounded *latents, const struct view *views,
                       struct bounded *out) {
    const struct kernel *kernel = problem->kernel;
    const struct mla *mla = kernel->mla;
    const size_t heads = kernel->heads, dim = qk_dim(kernel), both = kv_dim(kernel);
    const size_t rank = mla->kv_rank, width = rank + mla->rope_dim, rows = problem->checked;
    struct bounded *absorbed = make(rows * heads * width, sizeof *absorbed);
    struct bounded *c = make(problem->n * rank, sizeof *c);
    struct bounded *sums = make(rows * heads * rank, sizeof *sums);
    float *keys = make(rank * mla->nope_dim, sizeof *keys);
    float *values = make(mla->v_head_dim * rank, sizeof *values);
    for (size_t i = 0; i < problem->n; i++)
        memcpy(c + i * rank, latents + i * width, rank * sizeof *c);
    for (size_t h = 0; h < heads; h++) {
        for (size_t r = 0; r < rank; r++)
            for (size_t d = 0; d < mla->nope_dim; d++)
                keys[r * mla->nope_dim + d] =
                    *at(kernel, problem->weights.wv, r, rank, h * both + d, heads * both);
        for (size_t i = h; i < rows * heads; i += heads) {
            reference_project(kernel, keys, NULL, false, q + i * dim, 1, mla->nope_dim, rank,
                              absorbed + i * width);
            memcpy(absorbed + i * width + rank, q + i * dim + mla->nope_dim,
                   mla->rope_dim * sizeof *q);
        }
    }
    reference_attention(kernel, absorbed, latents, c, rows, &problem->extras, views, sums, NULL);
    for (size_t h = 0; h < heads; h++) {
        for (size_t d = 0; d < mla->v_head_dim; d++)
            for (size_t r = 0; r < rank; r++)
                values[d * rank + r] = *at(kernel, problem->weights.wv, r, rank,
                                           h * both + mla->nope_dim + d, heads * both);
        for (size_t i = h; i < rows * heads; i += heads)
            reference_project(kernel, values, NULL, false, sums + i * rank, 1, rank,
                              mla->v_head_dim, out + i * mla->v_head_dim);
    }
    free(absorbed);
    free(c);
    free(sums);
    free(keys);
    free(values);
}

void mla_reference(const struct problem *problem, size_t chunk, const struct bounded *x,
                   const struct view *views, struct bounded *y) {
    const struct kernel *kernel = problem->kernel;
    const struct mla *mla = kernel->mla;
    const size_t rows = problem->checked, row_size = kernel->heads * mla->v_head_dim;
    struct bounded *latents = latents_of(problem, x), *q = queries_of(problem, x);
    struct bounded *mixed = make(rows * row_size, sizeof *mixed);
    struct bounded *latent_mixed = make(rows * row_size, sizeof *latent_mixed);
    expanded(problem, q, latents, views, mixed);
    on_latents(problem, q, latents, views, latent_mixed);
    for (size_t i = 0; i < rows * row_size; i++) {
        const double off = fabs(mixed[i].value - latent_mixed[i].value);
        cr_assert(off <= 1e-4 * reference_bound(latent_mixed[i]),
                  "%s: the forms of the reference are %g apart", kernel->name, off);
        const size_t row = problem->rows - rows + i / row_size;
        const size_t position = problem->n - problem->rows + row;
        const size_t call = chunk ? position - row % chunk : problem->n - problem->rows;
        if (call > 0 || position >= mla->expand)
            mixed[i].squares = latent_mixed[i].squares;
    }
    reference_project(kernel, problem->weights.wo, problem->weights.bo, kernel->weights_in_out,
                      mixed, rows, row_size, kernel->d_model, y);
    free(latents);
    free(q);
    free(mixed);
    free(latent_mixed);
}
