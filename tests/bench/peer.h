/* Another library that computes the same, as the bench calls it. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

/* What is to be computed, one of two. The inputs stay as they are while a peer is open. */
struct peer_case {
    /* q [n_q][heads][head_dim], k [n_kv][kv_heads][head_dim], v [n_kv][kv_heads][v_head_dim]; query
     * i stands at position n_kv - n_q + i. Result [n_q][heads][v_head_dim]. */
    size_t heads, kv_heads, head_dim, v_head_dim, n_q, n_kv;
    bool causal;
    float scale;
    const float *q, *k, *v; /* NULL: a projection */
    /* x [rows][depth] times w [depth][columns] */
    size_t rows, depth, columns;
    const float *x, *w;
};

struct peer {
    const char *name;
    /* The name of way `variant` to call it, NULL after the last one. */
    const char *(*variant)(size_t variant);
    /* What run() needs, with the inputs in the order that suits the peer best; NULL if this way
     * does not apply to the case. close() frees it. */
    void *(*open)(const struct peer_case *what, size_t variant);
    void (*run)(void *self);
    void (*result)(void *self, float *out); /* of the last run */
    void (*close)(void *self);
};

/* Those that were built in, and the names of the others, separated by spaces. */
extern const struct peer *const peers[];
extern const size_t peers_count;
extern const char *const peers_missing;

#endif
