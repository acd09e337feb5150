/* The softmax between the products of a composition: vectorised, within a few units in the last
 * place, one pass for the maximum and one for the rest. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "peer.h"

/* 2^f for f in [-0.5, 0.5], constant first (least squares in the relative error). */
static const float exp2_terms[] = {1.0F,           0x1.62e424p-1F, 0x1.ebf9b0p-3F,
                                   0x1.c6ba92p-5F, 0x1.3ced02p-7F, 0x1.5ab260p-10F};

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static inline __m512 exp2_16(__m512 x) {
    const __m512 n =
        _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, n);
    __m512 y = _mm512_set1_ps(exp2_terms[5]);
    for (int i = 4; i >= 0; i--)
        y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(exp2_terms[i]));
    return _mm512_scalef_ps(y, n);
}

__attribute__((target("avx512f"))) static float softmax_avx512(float *row, size_t count,
                                                               float scale) {
    const size_t full = count / 64 * 64;
    const __m512 least = _mm512_set1_ps(-INFINITY);
    __m512 most[4] = {least, least, least, least}, sum[4];
    for (size_t j = 0; j < full; j += 64)
        for (size_t i = 0; i < 4; i++)
            most[i] = _mm512_max_ps(most[i], _mm512_loadu_ps(row + j + i * 16));
    for (size_t j = full; j < count; j += 16) {
        const __mmask16 mask = (__mmask16)(count - j >= 16 ? 0xffff : (1U << (count - j)) - 1);
        most[0] = _mm512_max_ps(most[0], _mm512_mask_loadu_ps(least, mask, row + j));
    }
    const float greatest = _mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(most[0], most[1]), _mm512_max_ps(most[2], most[3])));
    const __m512 factor = _mm512_set1_ps(scale * (float)M_LOG2E);
    const __m512 shift = _mm512_mul_ps(_mm512_set1_ps(greatest), factor);
    for (size_t i = 0; i < 4; i++)
        sum[i] = _mm512_setzero_ps();
    for (size_t j = 0; j < full; j += 64)
        for (size_t i = 0; i < 4; i++) {
            float *at = row + j + i * 16;
            const __m512 p = exp2_16(_mm512_fmsub_ps(_mm512_loadu_ps(at), factor, shift));
            sum[i] = _mm512_add_ps(sum[i], p);
            _mm512_storeu_ps(at, p);
        }
    for (size_t j = full; j < count; j += 16) {
        const __mmask16 mask = (__mmask16)(count - j >= 16 ? 0xffff : (1U << (count - j)) - 1);
        const __m512 s = _mm512_maskz_loadu_ps(mask, row + j);
        const __m512 p = _mm512_maskz_mov_ps(mask, exp2_16(_mm512_fmsub_ps(s, factor, shift)));
        sum[0] = _mm512_add_ps(sum[0], p);
        _mm512_mask_storeu_ps(row + j, mask, p);
    }
    return 1 / _mm512_reduce_add_ps(
                   _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}

/* x >= -126 */
__attribute__((target("avx2,fma"))) static inline __m256 exp2_8(__m256 x) {
    const __m256 magic = _mm256_set1_ps(0x1.8p23F);
    const __m256 shifted = _mm256_add_ps(x, magic);
    const __m256 f = _mm256_sub_ps(x, _mm256_sub_ps(shifted, magic));
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    __m256 y = _mm256_set1_ps(exp2_terms[5]);
    for (int i = 4; i >= 0; i--)
        y = _mm256_fmadd_ps(y, f, _mm256_set1_ps(exp2_terms[i]));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), exponent));
}
#endif
