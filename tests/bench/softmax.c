/* The softmax between the products of a composition: vectorised, exact to some units in the last
 * place. */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "peer.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SOFTMAX softmax_avx512
#define TARGET __attribute__((target("avx512f")))
#define BITS 512
#define VEC __m512
#define V(operation) _mm512_##operation##_ps
#define VI(operation) _mm512_##operation##_epi32
#define INTS _mm512_castps_si512
#define FLOATS _mm512_castsi512_ps
#include "softmax.inc"

#undef SOFTMAX
#undef TARGET
#undef BITS
#undef VEC
#undef V
#undef VI
#undef INTS
#undef FLOATS

#define SOFTMAX softmax_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define BITS 256
#define VEC __m256
#define V(operation) _mm256_##operation##_ps
#define VI(operation) _mm256_##operation##_epi32
#define INTS _mm256_castps_si256
#define FLOATS _mm256_castsi256_ps
#include "softmax.inc"

float peer_softmax(float *row, size_t count, float scale) {
    static int wide = -1;
    if (wide < 0)
        wide = __builtin_cpu_supports("avx512f") != 0;
    return wide ? softmax_avx512(row, count, scale) : softmax_avx2(row, count, scale);
}

#else
float peer_softmax(float *row, size_t count, float scale) {
    float greatest = row[0], sum = 0;
    for (size_t j = 1; j < count; j++)
        greatest = fmaxf(greatest, row[j]);
    for (size_t j = 0; j < count; j++)
        sum += row[j] = expf(scale * (row[j] - greatest));
    return 1 / sum;
}
#endif
