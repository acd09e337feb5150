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

static void *packed_weights(void) {
    void *packed = aligned(SIZE(WEIGHTS_BYTES));
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
    need(KERNEL(pack_weights)(&source, packed) == 0, "pack_weights");
    return packed;
}
#endif

#endif
