-- AVX-512 F, BW, DQ and VL (Skylake-X, Zen 4 and later): 16 lanes, 32 registers.
local lane_mask = "(__mmask16)((1u << ($1)) - 1u)"

-- 16 x 16: by pairs, by quadruples, and twice by 128-bit parts. Unrolled, so that it stays in
-- registers.
local transpose = {}
local function line(pattern, ...)
    transpose[#transpose + 1] = pattern:format(...)
end
for i = 0, 15 do
    line("const __m512 r%d = _mm512_loadu_ps(source + %d * stride);", i, i)
end
for i = 0, 15, 2 do
    line("const __m512d p%d = _mm512_castps_pd(_mm512_unpacklo_ps(r%d, r%d));", i, i, i + 1)
    line("const __m512d p%d = _mm512_castps_pd(_mm512_unpackhi_ps(r%d, r%d));", i + 1, i, i + 1)
end
for i = 0, 15, 4 do
    for j = 0, 3 do
        local half = j % 2 == 0 and "lo" or "hi"
        local a, b = i + j // 2, i + j // 2 + 2
        line("const __m512 q%d = _mm512_castpd_ps(_mm512_unpack%s_pd(p%d, p%d));",
            i + j, half, a, b)
    end
end
for i = 0, 15, 8 do
    for j = 0, 3 do
        local a, b = i + j, i + j + 4
        line("const __m512 t%d = _mm512_shuffle_f32x4(q%d, q%d, 0x88);", a, a, b)
        line("const __m512 t%d = _mm512_shuffle_f32x4(q%d, q%d, 0xdd);", b, a, b)
    end
end
for j = 0, 7 do
    local store = "_mm512_storeu_ps(target + %d * $key_tile, _mm512_shuffle_f32x4(t%d, t%d, %s));"
    line(store, j, j, j + 8, "0x88")
    line(store, j + 8, j, j + 8, "0xdd")
end

return {
    id = "avx512",
    order = 30,
    arch = "x86_64",
    about = "AVX-512 F, BW, DQ, VL",
    header = "immintrin.h",
    target = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    needs = { "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma" },
    quiet = {
        warnings = { "-Wmaybe-uninitialized", "-Wuninitialized", "-Wsign-conversion" },
        why = "its own headers start from undefined vectors and pass an int as a mask",
    },
    vector = "__m512",
    lanes = 16,
    registers = 32,
    fused = true,
    test = { native = true },
    -- 20 accumulators, 4 vectors of keys, a broadcast: best of 4, 5, 6 x 4, 8 x 2 and 12 x 2.
    tiles = {
        score_rows = 5,
        score_vectors = 4,
        value_vectors = 4,
        project_rows = 5,
        accumulators = 20,
    },
    functions = {
        transpose = table.concat(transpose, "\n"),
        fold = [[
const __m512 x = _mm512_loadu_ps(l);
const __m256 high = _mm512_extractf32x8_ps(x, 1);
const __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), high);
__m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
z = _mm_add_ps(z, _mm_movehl_ps(z, z));
return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));]],
    },
    ops = {
        prefetch = "_mm_prefetch((const char *)($1), _MM_HINT_T0)",
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
        sqrt = "_mm512_sqrt_ps($1)",
        div = "_mm512_div_ps($1, $2)",
        clamp = "_mm512_min_ps(_mm512_set1_ps($3), _mm512_max_ps(_mm512_set1_ps($2), $1))",
        max = "_mm512_max_ps($1, $2)",
        shift_exponent = "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512($1), 23))",
        minus_rounded = "_mm512_reduce_ps($1, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)",
        scale_unless_below = "_mm512_maskz_scalef_ps("
            .. "_mm512_cmp_ps_mask($3, _mm512_set1_ps($4), _CMP_NLT_UQ), $1, $2)",
        negative_infinity = "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_set1_epi32(0x1ff), 23))",
        reduce_max = "_mm512_reduce_max_ps($1)",
        select_first = "_mm512_mask_blend_ps(" .. lane_mask .. ", $3, $2)",
    },
}
