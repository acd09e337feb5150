-- AVX2 with FMA (Haswell, Zen and later): 8 lanes, 16 registers.
local lane_mask =
    "_mm256_cmpgt_epi32(_mm256_set1_epi32($1), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))"
return {
    id = "avx2",
    order = 20,
    arch = "x86_64",
    about = "AVX2 and FMA",
    guard = "defined(__x86_64__) || defined(_M_X64)",
    header = "immintrin.h",
    target = "avx2,fma",
    needs = { "avx2", "fma" },
    vector = "__m256",
    lanes = 8,
    registers = 16,
    fused = true,
    -- 6 x 2 accumulators, 2 operands and 1 broadcast fill 15 of 16 registers.
    tiles = {
        score_rows = 6,
        score_vectors = 2,
        value_vectors = 2,
        project_rows = 6,
        accumulators = 12,
    },
    functions = {
        reduce_max = {
            "__m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));",
            "m = _mm_max_ps(m, _mm_movehl_ps(m, m));",
            "return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));",
        },
    },
    ops = {
        zero = "_mm256_setzero_ps()",
        set1 = "_mm256_set1_ps($1)",
        load = "_mm256_loadu_ps($1)",
        store = "_mm256_storeu_ps($1, $2)",
        store_first = "_mm256_maskstore_ps($2, " .. lane_mask .. ", $3)",
        first = "_mm256_cvtss_f32($1)",
        fma = "_mm256_fmadd_ps($1, $2, $3)",
        mul = "_mm256_mul_ps($1, $2)",
        add = "_mm256_add_ps($1, $2)",
        sub = "_mm256_sub_ps($1, $2)",
        max = "_mm256_max_ps($1, $2)",
        shift_exponent = "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256($1), 23))",
        zero_below = "_mm256_and_ps($1, _mm256_cmp_ps($2, _mm256_set1_ps($3), _CMP_NLT_UQ))",
        negative_infinity = "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_set1_epi32(0x1ff), 23))",
        select_first = "_mm256_blendv_ps($3, $2, _mm256_castsi256_ps(" .. lane_mask .. "))",
    },
}
