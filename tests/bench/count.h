/* Counts vector multiply-adds: to be included before a written kernel (cc -include). */
#ifndef COUNT_H
#define COUNT_H

#include <immintrin.h>

extern unsigned long long fma_count;

#define COUNTED(call) (fma_count++, call)
#define _mm256_fmadd_ps(a, b, c) COUNTED(_mm256_fmadd_ps(a, b, c))
#define _mm512_fmadd_ps(a, b, c) COUNTED(_mm512_fmadd_ps(a, b, c))
#define _mm512_mask_fmadd_ps(a, m, b, c) COUNTED(_mm512_mask_fmadd_ps(a, m, b, c))
#define _mm512_mask3_fmadd_ps(a, b, c, m) COUNTED(_mm512_mask3_fmadd_ps(a, b, c, m))
#define _mm512_maskz_fmadd_ps(m, a, b, c) COUNTED(_mm512_maskz_fmadd_ps(m, a, b, c))

#endif
