/* Attention out of a library's matrix products, as a developer would compose it who knows the
 * library well: block of rows by block of rows, so that scores stay in the cache; no block that a
 * causal mask hides; all query heads of a KV head in one product. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* How the inputs lie: as the bench has them, with strides; one head after the other; or the rows of
 * all query heads of a KV head as one matrix, position by position. */
enum order { AS_GIVEN, BY_HEAD, BY_GROUP, ORDERS };

static const size_t block_rows[] = {32, 64, 128, 256};
enum { BLOCKS = sizeof block_rows / sizeof *block_rows };
/* Of a projection: columns and rows of a block. */
static const size_t panel_columns[] = {32, 64, 128}, panel_rows[] = {32, 128};
_Static_assert(COMPOSE_WAYS == (int)ORDERS * (int)BLOCKS * 2, "ways");

struct composition {
    struct peer_case what;
    const struct library *library;
    enum order order;
    bool packs; /* transposes the keys first, in each run */
    /* A task is one matrix of `rows` queries: a head's or a group's. */
    size_t tasks, rows, rows_of_position, step, blocks;
    size_t q_stride, k_stride, v_stride, o_stride, s_stride, packed_stride;
    void **score_plans, **value_plans; /* [blocks] */
    float *q, *k, *v, *out, *scores, *packed;
    float *inverse; /* [step] */
    /* of a projection */
    void *plan;
    const float *prepared;
    size_t panel, panel_step;
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

/* Keys that row `row` of a task sees. */
static size_t visible(const struct composition *own, size_t row) {
    const struct peer_case *what = &own->what;
    const size_t position = row / own->rows_of_position;
    return what->causal ? what->n_kv - what->n_q + position + 1 : what->n_kv;
}

/* Copies from [n][heads][width] to [heads][n][width], `group` heads taken together as one. */
static float *by_head(const float *from, size_t n, size_t heads, size_t width, size_t group) {
    float *to = peer_room(n * heads * width * sizeof *to);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h += group)
            memcpy(to + (h * n + i * group) * width, from + (i * heads + h) * width,
                   group * width * sizeof *to);
    return to;
}

static bool plan_blocks(struct composition *own) {
    const struct peer_case *what = &own->what;
    own->score_plans = calloc(own->blocks, sizeof *own->score_plans);
    own->value_plans = calloc(own->blocks, sizeof *own->value_plans);
    if (!own->score_plans || !own->value_plans)
        return false;
    for (size_t i = 0; i < own->blocks; i++) {
        const size_t rows = smaller(own->step, own->rows - i * own->step);
        const size_t keys = visible(own, i * own->step + rows - 1);
        own->score_plans[i] = own->library->plan(rows, keys, what->head_dim, own->q_stride,
                                                 own->packs ? own->packed_stride : own->k_stride,
                                                 own->s_stride, !own->packs, false);
        own->value_plans[i] = own->library->plan(rows, what->v_head_dim, keys, own->s_stride,
                                                 own->v_stride, own->o_stride, false, false);
        if (!own->score_plans[i] || !own->value_plans[i])
            return false;
    }
    return true;
}

static bool open_attention(struct composition *own, size_t way) {
    const struct peer_case *what = &own->what;
    const size_t group = what->heads / what->kv_heads, hd = what->head_dim, dv = what->v_head_dim;
    own->order = (enum order)(way % ORDERS);
    own->packs = way / ORDERS % 2;
    own->step = block_rows[way / ORDERS / 2];
    const bool grouped = own->order == BY_GROUP;
    if (grouped && group == 1)
        return false;
    own->tasks = grouped ? what->kv_heads : what->heads;
    own->rows_of_position = grouped ? group : 1;
    own->rows = what->n_q * own->rows_of_position;
    /* A step that is larger than all rows is the same as the one before. */
    if (way / ORDERS / 2 > 0 && block_rows[way / ORDERS / 2 - 1] >= own->rows)
        return false;
    own->blocks = (own->rows + own->step - 1) / own->step;
    const bool given = own->order == AS_GIVEN;
    own->q_stride = given ? what->heads * hd : hd;
    own->k_stride = given ? what->kv_heads * hd : hd;
    own->v_stride = given ? what->kv_heads * dv : dv;
    own->o_stride = given ? what->heads * dv : dv;
    own->s_stride = (what->n_kv + 31) / 32 * 32 + 16; /* rows in different cache sets */
    own->packed_stride = own->s_stride;
    if (!plan_blocks(own))
        return false;
    const size_t together = grouped ? group : 1;
    if (!given) {
        own->q = by_head(what->q, what->n_q, what->heads, hd, together);
        own->k = by_head(what->k, what->n_kv, what->kv_heads, hd, 1);
        own->v = by_head(what->v, what->n_kv, what->kv_heads, dv, 1);
    }
    own->out = peer_room(what->n_q * what->heads * dv * sizeof(float));
    own->scores = peer_room(own->step * own->s_stride * sizeof(float));
    own->inverse = peer_room(own->step * sizeof(float));
    if (own->packs)
        own->packed = peer_room(hd * own->packed_stride * sizeof(float));
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
    own->panel_step = what->rows;
    if (way > 1) {
        if (block >= kinds * 2)
            return false;
        own->panel = panel_columns[block % kinds];
        own->panel_step = smaller(what->rows, panel_rows[block / kinds]);
        if (what->columns % own->panel || what->rows % own->panel_step)
            return false;
    }
    own->plan = own->library->plan(own->panel_step, own->panel, what->depth, what->depth,
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

/* [n][width], rows `stride` apart, to [width][..]: 16 rows at a time stay in the cache. */
static void transpose(const float *from, size_t n, size_t width, size_t stride, float *to,
                      size_t to_stride) {
    for (size_t i = 0; i < n; i += 16)
        for (size_t d = 0; d < width; d++)
            for (size_t j = i; j < smaller(n, i + 16); j++)
                to[d * to_stride + j] = from[j * stride + d];
}

static void run_task(struct composition *own, size_t task) {
    const struct peer_case *what = &own->what;
    const struct library *library = own->library;
    const size_t hd = what->head_dim, dv = what->v_head_dim;
    const size_t kv_head = task * what->kv_heads / own->tasks;
    const bool given = own->order == AS_GIVEN;
    const float *q = given ? what->q + task * hd : own->q + task * own->rows * hd;
    const float *k = given ? what->k + kv_head * hd : own->k + kv_head * what->n_kv * hd;
    const float *v = given ? what->v + kv_head * dv : own->v + kv_head * what->n_kv * dv;
    float *out = own->out + (given ? task * dv : task * own->rows * dv);
    if (own->packs && (task == 0 || (task - 1) * what->kv_heads / own->tasks != kv_head))
        transpose(k, what->n_kv, hd, own->k_stride, own->packed, own->packed_stride);
    for (size_t i = 0; i < own->blocks; i++) {
        const size_t first = i * own->step, rows = smaller(own->step, own->rows - first);
        const size_t keys = visible(own, first + rows - 1);
        library->multiply(own->score_plans[i], q + first * own->q_stride,
                          own->packs ? own->packed : k, own->scores);
        for (size_t r = 0; r < rows; r++) {
            float *row = own->scores + r * own->s_stride;
            const size_t seen = visible(own, first + r);
            own->inverse[r] = peer_softmax(row, seen, what->scale);
            memset(row + seen, 0, (keys - seen) * sizeof *row);
        }
        library->multiply(own->value_plans[i], own->scores, v, out + first * own->o_stride);
        for (size_t r = 0; r < rows; r++)
            for (size_t d = 0; d < dv; d++)
                out[(first + r) * own->o_stride + d] *= own->inverse[r];
    }
}

void compose_run(void *self) {
    struct composition *own = self;
    for (size_t c = 0; own->plan && c < own->what.columns; c += own->panel)
        for (size_t r = 0; r < own->what.rows; r += own->panel_step)
            own->library->multiply(own->plan, own->what.x + r * own->what.depth,
                                   own->prepared + c * own->what.depth,
                                   own->out + r * own->what.columns + c);
    for (size_t task = 0; task < own->tasks; task++)
        run_task(own, task);
}

void compose_result(void *self, float *out) {
    const struct composition *own = self;
    const struct peer_case *what = &own->what;
    const size_t dv = what->v_head_dim, together = own->rows_of_position;
    if (own->plan || own->order == AS_GIVEN) {
        const size_t count = own->plan ? what->rows * what->columns : what->n_q * what->heads * dv;
        memcpy(out, own->out, count * sizeof *out);
        return;
    }
    for (size_t i = 0; i < what->n_q; i++)
        for (size_t h = 0; h < what->heads; h += together)
            memcpy(out + (i * what->heads + h) * dv, own->out + (h * what->n_q + i * together) * dv,
                   together * dv * sizeof *out);
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
