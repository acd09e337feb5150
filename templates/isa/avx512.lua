-- AVX-512 F, BW, DQ and VL (Skylake-X, Zen 4 and later): 16 lanes, 32 registers.
local lane_mask = "(__mmask16)((1u << ($1)) - 1u)"
return {
    id = "avx512",
    order = 30,
    arch = "x86_64",
    about = "AVX-512 F, BW, DQ, VL",
    guard = "defined(__x86_64__) || defined(_M_X64)",
    header = "immintrin.h",
    target = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    needs = { "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma" },
    quiet = {
        warning = "-Wmaybe-uninitialized",
        why = "its own headers start from undefined vectors",
    },
    vector = "__m512",
    lanes = 16,
    registers = 32,
    fused = true,
    -- 16 accumulators hide the FMA latency twice over.
    tiles = {
        score_rows = 4,
        score_vectors = 4,
        value_vectors = 4,
        project_rows = 8,
        accumulators = 16,
    },
    ops = {
        zero = "_mm512_setzero_ps()",
        set1 = "_mm512_set1_ps($1)",
        load = "_mm512_loadu_ps($1)",
        store = "_mm512_storeu_ps($1, $2)",
        store_first = "_mm512_mask_storeu_ps($2, " .. lane_mask .. ", $3)",
        first = "_mm512_cvtss_f32($1)",
        fma = "_mm512_fmadd_ps($1, $2, $3)",
        mul = "_mm512_mul_ps($1, $2)",
        add = "_mm512_add_ps($1, $2)",
        sub = "_mm512_sub_ps($1, $2)",
        max = "_mm512_max_ps($1, $2)",
        round_even =
            "_mm512_roundscale_ps($1, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)",
        scale_unless_below = "_mm512_maskz_scalef_ps("
            .. "_mm512_cmp_ps_mask($3, _mm512_set1_ps($4), _CMP_NLT_UQ), $1, $2)",
        negative_infinity = "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_set1_epi32(0x1ff), 23))",
        reduce_max = "_mm512_reduce_max_ps($1)",
        select_first = "_mm512_mask_blend_ps(" .. lane_mask .. ", $3, $2)",
    },
}
