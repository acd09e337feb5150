/* The example of docs/conventions.md, parts.inc: one query's attention to a context in three caches
 * must be that of one cache that holds it all. */
#include "model.h"

#include <math.h>
#include <stdio.h>

enum { HEADS = MODEL_HEADS, DIM = MODEL_V_HEAD_DIM, N = 300, A = 100, B = 229 };
enum { KEY = MODEL_KV_HEADS * MODEL_HEAD_DIM, VALUE = MODEL_KV_HEADS * MODEL_V_HEAD_DIM };

static _Alignas(MODEL_ALIGN) unsigned char cache[4][MODEL_CACHE_BYTES];
static _Alignas(MODEL_ALIGN) unsigned char scratch[4][MODEL_CACHE_SCRATCH_BYTES];
static float q[HEADS * MODEL_HEAD_DIM], k[N][KEY], v[N][VALUE], want[HEADS * DIM], want_lse[HEADS];

static void fill(float *x, size_t count, unsigned seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static int put(size_t part, size_t from, size_t to) {
    return model_cache_reset(cache[part]) |
           model_cache_append(cache[part], 0, to - from, k[from], v[from]);
}

int main(void) {
    const size_t a = A, b = B, n = N;
    int status[3], merged;
    fill(q, sizeof q / sizeof *q, 1);
    fill(k[0], sizeof k / sizeof **k, 2);
    fill(v[0], sizeof v / sizeof **v, 3);
    if (put(0, 0, a) | put(1, a, b) | put(2, b, n) | put(3, 0, n) |
        model_cache_attention(cache[3], n - 1, 1, q, want_lse, want, scratch[3], NULL))
        return 1;
#include "parts.inc"
    if (status[0] | status[1] | status[2] | merged)
        return 1;
    for (size_t i = 0; i < HEADS * DIM; i++)
        if (!(fabsf(out[0][i] - want[i]) < 1e-6f)) {
            printf("[%zu] is %g, not %g\n", i, (double)out[0][i], (double)want[i]);
            return 1;
        }
    for (size_t head = 0; head < HEADS; head++)
        if (!(fabsf(lse[0][head] - want_lse[head]) < 2e-6f))
            return 1;
    return 0;
}
