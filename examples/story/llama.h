/* A Llama-shaped decoder from a llama2.c checkpoint. Its layers are blocks that attnc wrote
 * (specs/stories260k.lua); embedding, last norm and logits are plain C. */
#ifndef STORY_LLAMA_H
#define STORY_LLAMA_H

#include <stddef.h>

typedef struct llama_layer {
    void *weights, *cache; /* the kernel's */
    /* For a look from outside, [dim] each: the gains before attention, the last step's output. */
    const float *attention_norm;
    float *out;
} llama_layer;

typedef struct llama {
    int dim, layers, vocab, positions; /* positions: how many it was trained for */
    float *tensors;                    /* the file's, behind its header */
    const float *embedding, *final_norm, *classifier;
    llama_layer *layer;
    void *memory, *scratch; /* the kernel's, aligned, in one piece */
    float *x;
} llama;

/* Reads the checkpoint at `path`. Returns NULL, or what is wrong in words that stay valid until the
 * next call; then `model` is empty. llama_close frees it either way. */
const char *llama_open(llama *model, const char *path);
void llama_close(llama *model);

/* Runs `token` at `position`, which must be the next one (0 starts a new text), and writes the
 * logits [vocab] of the token after it. Returns 0, or the kernel's negative status. */
int llama_step(llama *model, int token, int position, float *logits);

#endif
