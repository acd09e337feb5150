/* Attention out of a library's matrix products, as a developer would compose it who knows the
 * library well: block of rows by block of rows, so that scores stay in the cache; no block that a
 * causal mask hides; all query heads of a KV head in one product. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Ways of attention: so many rows of a block; the keys as they are, or transposed. Ways of a
 * projection: columns and rows of a block. */
static const size_t block_rows[] = {32, 64, 128, 256};
static const size_t panel_columns[] = {32, 64, 128}, panel_rows[] = {32, 128};

struct composition {
    struct peer_case what;
    const struct library *library;
    void *plan; /* of a projection's block */
    const float *prepared;
    size_t panel, panel_rows;
    /* Attention: for each KV head a matrix of n_q * group rows, position by position. */
    size_t group, rows, step, blocks, stride; /* stride: of scores and packed keys */
    void **score_plans, **value_plans;        /* [blocks] */
    float *q, *k, *v, *out, *scores, *packed, *inverse;
    bool packs, packs_in_run;
};

void *peer_room(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes + 4096)) {
        fputs("bench: out of memory for a peer\n", stderr);
        exit(1);
    }
    return memory;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Keys that row `row` of a KV head sees. */
static size_t visible(const struct composition *own, size_t row) {
    const struct peer_case *what = &own->what;
    return what->causal ? what->n_kv - what->n_q + row / own->group + 1 : what->n_kv;
}

/* Copies from [n][heads][width] to [heads / group][n][group][width]. */
static float *by_head(const float *from, size_t n, size_t heads, size_t width, size_t group) {
    float *to = peer_room(n * heads * width * sizeof *to);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h += group)
            memcpy(to + (h * n + i * group) * width, from + (i * heads + h) * width,
                   group * width * sizeof *to);
    return to;
}

/* [n][width] to [width][..]: 16 rows at a time stay in the cache. */
static void transpose(const float *from, size_t n, size_t width, float *to, size_t stride) {
    for (size_t i = 0; i < n; i += 16)
        for (size_t d = 0; d < width; d++)
            for (size_t j = i; j < smaller(n, i + 16); j++)
                to[d * stride + j] = from[j * width + d];
}

static bool plan_blocks(struct composition *own) {
    const struct peer_case *what = &own->what;
    const size_t hd = what->head_dim, dv = what->v_head_dim;
    own->score_plans = calloc(own->blocks, sizeof *own->score_plans);
    own->value_plans = calloc(own->blocks, sizeof *own->value_plans);
    if (!own->score_plans || !own->value_plans)
        return false;
    for (size_t i = 0; i < own->blocks; i++) {
        const size_t rows = smaller(own->step, own->rows - i * own->step);
        const size_t keys = visible(own, i * own->step + rows - 1);
        own->score_plans[i] = own->library->plan(rows, keys, hd, hd, own->packs ? own->stride : hd,
                                                 own->stride, !own->packs, false);
        own->value_plans[i] = own->library->plan(rows, dv, keys, own->stride, dv, dv, false, false);
        if (!own->score_plans[i] || !own->value_plans[i])
            return false;
    }
    return true;
}

static bool open_attention(struct composition *own, size_t way) {
    const struct peer_case *what = &own->what;
    const size_t size = way / 2, n = what->n_kv, hd = what->head_dim;
    own->group = what->heads / what->kv_heads;
    own->rows = what->n_q * own->group;
    if (size >= sizeof block_rows / sizeof *block_rows)
        return false;
    if (size > 0 && block_rows[size - 1] >= own->rows)
        return false; /* the same as the one before */
    own->step = block_rows[size];
    own->blocks = (own->rows + own->step - 1) / own->step;
    own->packs = way % 2;
    own->packs_in_run = own->packs && what->n_q > 1; /* a cache can be kept the way that is best */
    own->stride = (n + 31) / 32 * 32 + 16;           /* rows in different cache sets */
    if (!plan_blocks(own))
        return false;
    own->q = by_head(what->q, what->n_q, what->heads, hd, own->group);
    own->k = by_head(what->k, n, what->kv_heads, hd, 1);
    own->v = by_head(what->v, n, what->kv_heads, what->v_head_dim, 1);
    own->out = peer_room(what->n_q * what->heads * what->v_head_dim * sizeof(float));
    own->scores = peer_room(own->step * own->stride * sizeof(float));
    own->inverse = peer_room(own->step * sizeof(float));
    if (own->packs)
        own->packed = peer_room(what->kv_heads * hd * own->stride * sizeof(float));
    for (size_t head = 0; own->packs && head < what->kv_heads; head++)
        transpose(own->k + head * n * hd, n, hd, own->packed + head * hd * own->stride,
                  own->stride);
    return true;
}

/* The weights as panels, [depth][panel] each. */
static float *panels(const struct peer_case *what, size_t panel) {
    float *to = peer_room(what->depth * what->columns * sizeof *to);
    for (size_t c = 0; c < what->columns; c += panel)
        for (size_t d = 0; d < what->depth; d++)
            memcpy(to + c * what->depth + d * panel, what->w + d * what->columns + c,
                   panel * sizeof *to);
    return to;
}

/* Way 0: the product as it is; way 1: with the weights in the library's own order; then in blocks,
 * with the weights in panels. */
static bool open_projection(struct composition *own, size_t way) {
    const struct peer_case *what = &own->what;
    const size_t block = way - 2, kinds = sizeof panel_columns / sizeof *panel_columns;
    if (way == 1 && !own->library->prepare)
        return false;
    own->panel = what->columns;
    own->panel_rows = what->rows;
    if (way > 1) {
        if (block >= kinds * 2)
            return false;
        own->panel = panel_columns[block % kinds];
        own->panel_rows = smaller(what->rows, panel_rows[block / kinds]);
        if (what->columns % own->panel || what->rows % own->panel_rows)
            return false;
    }
    own->plan = own->library->plan(own->panel_rows, own->panel, what->depth, what->depth,
                                   own->panel, what->columns, false, way == 1);
    own->out = peer_room(what->rows * what->columns * sizeof(float));
    if (own->plan && way > 1)
        own->prepared = own->packed = panels(what, own->panel);
    else if (own->plan)
        own->prepared = way == 1 ? own->library->prepare(own->plan, what->w) : what->w;
    return own->plan && own->prepared;
}

void *compose_open(const struct peer *peer, const struct peer_case *what, size_t way) {
    struct composition *own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    own->what = *what;
    own->library = peer->own;
    if (what->q ? open_attention(own, way) : open_projection(own, way))
        return own;
    compose_close(own);
    return NULL;
}

static void run_head(struct composition *own, size_t head) {
    const struct peer_case *what = &own->what;
    const struct library *library = own->library;
    const size_t hd = what->head_dim, dv = what->v_head_dim, n = what->n_kv;
    const float *q = own->q + head * own->rows * hd;
    const float *k = own->k + head * n * hd, *v = own->v + head * n * dv;
    float *out = own->out + head * own->rows * dv;
    if (own->packs) {
        /* in a run all heads share one place, which stays in the cache */
        float *packed = own->packed + (own->packs_in_run ? 0 : head * hd * own->stride);
        if (own->packs_in_run)
            transpose(k, n, hd, packed, own->stride);
        k = packed;
    }
    for (size_t first = 0; first < own->rows; first += own->step) {
        const size_t block = first / own->step, rows = smaller(own->step, own->rows - first);
        const size_t keys = visible(own, first + rows - 1);
        library->multiply(own->score_plans[block], q + first * hd, k, own->scores);
        for (size_t r = 0; r < rows; r++) {
            float *row = own->scores + r * own->stride;
            const size_t seen = visible(own, first + r);
            own->inverse[r] = peer_softmax(row, seen, what->scale);
            memset(row + seen, 0, (keys - seen) * sizeof *row);
        }
        library->multiply(own->value_plans[block], own->scores, v, out + first * dv);
        for (size_t r = 0; r < rows; r++)
            for (size_t d = 0; d < dv; d++)
                out[(first + r) * dv + d] *= own->inverse[r];
    }
}

void compose_run(void *self) {
    struct composition *own = self;
    const struct peer_case *what = &own->what;
    for (size_t head = 0; what->q && head < what->kv_heads; head++)
        run_head(own, head);
    for (size_t c = 0; !what->q && c < what->columns; c += own->panel)
        for (size_t r = 0; r < what->rows; r += own->panel_rows)
            own->library->multiply(own->plan, what->x + r * what->depth,
                                   own->prepared + c * what->depth,
                                   own->out + r * what->columns + c);
}

void compose_result(void *self, float *out) {
    const struct composition *own = self;
    const struct peer_case *what = &own->what;
    const size_t width = own->group * what->v_head_dim;
    if (!what->q)
        memcpy(out, own->out, what->rows * what->columns * sizeof *out);
    for (size_t head = 0; what->q && head < what->kv_heads; head++)
        for (size_t i = 0; i < what->n_q; i++)
            memcpy(out + (i * what->kv_heads + head) * width,
                   own->out + (head * what->n_q + i) * width, width * sizeof *out);
}

void compose_close(void *self) {
    struct composition *own = self;
    for (size_t i = 0; i < own->blocks; i++) {
        if (own->score_plans && own->score_plans[i])
            own->library->forget(own->score_plans[i]);
        if (own->value_plans && own->value_plans[i])
            own->library->forget(own->value_plans[i]);
    }
    if (own->plan)
        own->library->forget(own->plan);
    void *all[] = {own->score_plans, own->value_plans, own->q,      own->k,       own->v,
                   own->out,         own->scores,      own->packed, own->inverse, own};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
