/* Other libraries that compute the same, as the bench calls them. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

/* What is to be computed, one of two. The inputs stay as they are while a peer is open. */
struct peer_case {
    /* Attention: q [n_q][heads][head_dim], k [n_kv][kv_heads][head_dim], v [n_kv][kv_heads][..];
     * query i stands at position n_kv - n_q + i. Result [n_q][heads][v_head_dim]. */
    size_t heads, kv_heads, head_dim, v_head_dim, n_q, n_kv;
    bool causal;
    float scale;
    const float *q, *k, *v; /* NULL: a projection */
    /* Projection: x [rows][depth] times w [depth][columns] */
    size_t rows, depth, columns;
    const float *x, *w;
};

struct peer {
    const char *name;
    const void *own; /* the library of a composition, the operator of a model */
    /* Loads the library; false if it is not there. */
    bool (*start)(const struct peer *peer);
    /* What run() needs, with the inputs in the order that this way to call the library likes best;
     * NULL if it does not apply to the case. close() frees it. */
    void *(*open)(const struct peer *peer, const struct peer_case *what, size_t way);
    size_t ways;
    void (*run)(void *self);
    void (*result)(void *self, float *out); /* of the last run, in the bench's own order */
    void (*close)(void *self);
};

/* ---- compositions: a library's matrix product, with a softmax of ours in between ---- */

struct library {
    /* A product of c [m][n] = a [m][k] times b [k][n], or b [n][k] if `transposed`; lda, ldb and
     * ldc floats from row to row. `constant`: b will not change, and multiply() is given what
     * prepare() made of it. NULL: the library cannot do it this way. */
    void *(*plan)(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc, bool transposed,
                  bool constant);
    void (*multiply)(void *plan, const float *a, const float *b, float *c);
    void (*forget)(void *plan);
    const float *(*prepare)(void *plan, const float *b); /* NULL: it has no such thing */
};

enum { COMPOSE_WAYS = 8 };
void *compose_open(const struct peer *peer, const struct peer_case *what, size_t way);
void compose_run(void *self);
void compose_result(void *self, float *out);
void compose_close(void *self);

/* Aligned memory that free() frees. */
void *peer_room(size_t bytes);

/* row[j] = exp(scale * (row[j] - their greatest)) for j < count; returns 1 / their sum. The row has
 * room for 32 more. */
float peer_softmax(float *row, size_t count, float scale);

#endif
