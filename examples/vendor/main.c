/* One attention layer of GPT-2 small in a program of your own. Its weights here are a toy with a
 * known answer: no queries, so every key weighs the same; identities as values and output. Row n of
 * the result is then the mean of rows 0..n of the input. */
#include "gpt2_small.h"

#include <stdio.h>

enum { D = GPT2_SMALL_D_MODEL, PROMPT = 3, POSITIONS = 4 };

/* The kernel's memory is the caller's: static here, or from any allocator that aligns. */
static _Alignas(GPT2_SMALL_ALIGN) unsigned char weights[GPT2_SMALL_WEIGHTS_BYTES];
static _Alignas(GPT2_SMALL_ALIGN) unsigned char cache[GPT2_SMALL_CACHE_BYTES];
static _Alignas(GPT2_SMALL_ALIGN) unsigned char scratch[GPT2_SMALL_CACHE_SCRATCH_BYTES];

static float zero[D * D], identity[D * D], x[POSITIONS][D], y[POSITIONS][D];

int main(void) {
    for (int i = 0; i < D; i++) {
        identity[i * D + i] = 1.0f;
        for (int row = 0; row < POSITIONS; row++)
            x[row][i] = (float)(2 * row + 1);
    }
    const gpt2_small_weights model = {.wq = zero,
                                      .wk = zero,
                                      .wv = identity,
                                      .wo = identity,
                                      .bq = zero,
                                      .bk = zero,
                                      .bv = zero,
                                      .bo = zero};
    int status = gpt2_small_pack_weights(&model, weights);
    if (status == GPT2_SMALL_OK)
        status = gpt2_small_cache_reset(cache);
    if (status == GPT2_SMALL_OK) /* the prompt at once */
        status = gpt2_small_layer(weights, cache, 0, PROMPT, x[0], y[0], scratch, NULL);
    for (size_t at = PROMPT; at < POSITIONS && status == GPT2_SMALL_OK; at++) /* then one by one */
        status = gpt2_small_layer(weights, cache, at, 1, x[at], y[at], scratch, NULL);
    if (status != GPT2_SMALL_OK) {
        fprintf(stderr, "gpt2_small: status %d\n", status);
        return 1;
    }
    printf("%s: %.3f %.3f %.3f %.3f\n", gpt2_small_isa(), (double)y[0][0], (double)y[1][1],
           (double)y[2][2], (double)y[3][D - 1]);
    return 0;
}
