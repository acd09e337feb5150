/* The kernel under test, named by the compiler's command line: -DHEADER='"odd.h"' -DNAME=odd
 * -DUPPER=ODD. KERNEL(layer) is odd_layer, SIZE(ALIGN) is ODD_ALIGN. Compiles as C and as C++. */
#ifndef SUBJECT_H
#define SUBJECT_H

#include HEADER

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBJECT_PASTE_(a, b) a##_##b
#define SUBJECT_PASTE(a, b) SUBJECT_PASTE_(a, b)
#define KERNEL(function) SUBJECT_PASTE(NAME, function)
#define SIZE(macro) SUBJECT_PASTE(UPPER, macro)

#define Q_ROW ((size_t)SIZE(HEADS) * SIZE(HEAD_DIM))
#define K_ROW ((size_t)SIZE(KV_HEADS) * SIZE(HEAD_DIM))
#define V_ROW ((size_t)SIZE(KV_HEADS) * SIZE(V_HEAD_DIM))
#define O_ROW ((size_t)SIZE(HEADS) * SIZE(V_HEAD_DIM))

static void need(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

/* Zeroed memory aligned for the kernel; never freed, as the programs end soon. */
static void *aligned(size_t bytes) {
    const size_t align = SIZE(ALIGN);
    char *memory = (char *)calloc(bytes + align, 1);
    need(memory != NULL, "memory");
    return memory + (align - (uintptr_t)memory % align) % align;
}

static float *numbers(size_t count, float scale, uint32_t seed) {
    float *made = (float *)aligned(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        made[i] = ((float)(seed >> 8) / 8388608.0f - 1.0f) * scale;
    }
    return made;
}

#if SIZE(HAS_LAYER)
#define X_ROW ((size_t)SIZE(D_MODEL))

static KERNEL(weights) source_weights(void) {
    KERNEL(weights) source;
    memset(&source, 0, sizeof source);
    source.wq = numbers(Q_ROW * X_ROW, 0.2f, 1);
    source.wk = numbers(K_ROW * X_ROW, 0.2f, 2);
    source.wv = numbers(V_ROW * X_ROW, 0.2f, 3);
    source.wo = numbers(O_ROW * X_ROW, 0.2f, 4);
#if SIZE(QKV_BIAS)
    source.bq = numbers(Q_ROW, 1.0f, 5);
    source.bk = numbers(K_ROW, 1.0f, 6);
    source.bv = numbers(V_ROW, 1.0f, 7);
#endif
#if SIZE(O_BIAS)
    source.bo = numbers(X_ROW, 1.0f, 8);
#endif
#if SIZE(QK_NORM) /* only there if there is one; as many numbers as any norm has */
    source.q_norm = numbers(Q_ROW, 1.0f, 9);
    source.k_norm = numbers(K_ROW, 1.0f, 10);
#endif
#if SIZE(QK_NORM_BIAS)
    source.q_norm_bias = numbers(Q_ROW, 1.0f, 11);
    source.k_norm_bias = numbers(K_ROW, 1.0f, 12);
#endif
    return source;
}

/* Of the layer, or the block's, which a layer takes too. */
static void *packed_weights(void) {
#if SIZE(HAS_BLOCK) /* only there if there is one */
    void *packed = aligned(SIZE(BLOCK_WEIGHTS_BYTES));
    KERNEL(block_weights) source;
    memset(&source, 0, sizeof source);
    source.attention = source_weights();
#if SIZE(ATTENTION_NORM)
    source.attention_norm = numbers(X_ROW, 1.0f, 20);
#if SIZE(NORM_BIAS)
    source.attention_norm_bias = numbers(X_ROW, 1.0f, 21);
#endif
#endif
#if SIZE(ATTENTION_POST_NORM)
    source.attention_post_norm = numbers(X_ROW, 1.0f, 22);
#if SIZE(NORM_BIAS)
    source.attention_post_norm_bias = numbers(X_ROW, 1.0f, 23);
#endif
#endif
#if SIZE(FFN_NORM)
    source.ffn_norm = numbers(X_ROW, 1.0f, 24);
#if SIZE(NORM_BIAS)
    source.ffn_norm_bias = numbers(X_ROW, 1.0f, 25);
#endif
#endif
#if SIZE(FFN_POST_NORM)
    source.ffn_post_norm = numbers(X_ROW, 1.0f, 26);
#if SIZE(NORM_BIAS)
    source.ffn_post_norm_bias = numbers(X_ROW, 1.0f, 27);
#endif
#endif
#if SIZE(FFN)
    const size_t inner = X_ROW * SIZE(FFN);
#if SIZE(GATED)
    source.w_gate = numbers(inner, 0.4f, 28);
#if SIZE(FFN_BIAS)
    source.b_gate = numbers(SIZE(FFN), 3.0f, 29);
#endif
#endif
    source.w_up = numbers(inner, 0.4f, 30);
    source.w_down = numbers(inner, 0.2f, 31);
#if SIZE(FFN_BIAS)
    source.b_up = numbers(SIZE(FFN), 1.0f, 32);
    source.b_down = numbers(X_ROW, 1.0f, 33);
#endif
#endif
#if SIZE(LAYER_SCALE)
    source.attention_scale = numbers(X_ROW, 1.0f, 34);
#if SIZE(FFN)
    source.ffn_scale = numbers(X_ROW, 1.0f, 35);
#endif
#endif
    need(KERNEL(pack_block_weights)(&source, packed) == 0, "pack_block_weights");
#else
    void *packed = aligned(SIZE(WEIGHTS_BYTES));
    const KERNEL(weights) source = source_weights();
    need(KERNEL(pack_weights)(&source, packed) == 0, "pack_weights");
#endif
    return packed;
}
#endif

#endif
