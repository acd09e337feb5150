-- AVX2 with FMA (Haswell, Zen and later): 8 lanes, 16 registers.
local lane_mask =
    "_mm256_cmpgt_epi32(_mm256_set1_epi32($1), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))"

-- 8 x 8: by pairs, by quadruples, by halves. Unrolled, so that it stays in registers.
local transpose = {}
local function line(pattern, ...)
    transpose[#transpose + 1] = pattern:format(...)
end
for i = 0, 7 do
    line("const __m256 r%d = _mm256_loadu_ps(source + %d * stride);", i, i)
end
for i = 0, 7, 2 do
    line("const __m256 p%d = _mm256_unpacklo_ps(r%d, r%d);", i, i, i + 1)
    line("const __m256 p%d = _mm256_unpackhi_ps(r%d, r%d);", i + 1, i, i + 1)
end
for i = 0, 7, 4 do
    for j = 0, 3 do
        line("const __m256 q%d = _mm256_shuffle_ps(p%d, p%d, %s);", i + j, i + j // 2,
            i + j // 2 + 2, j % 2 == 0 and "0x44" or "0xee")
    end
end
for i = 0, 3 do
    local store = "_mm256_storeu_ps(target + %d * $key_tile, _mm256_permute2f128_ps(q%d, q%d, %s));"
    line(store, i, i, i + 4, "0x20")
    line(store, i + 4, i, i + 4, "0x31")
end

return {
    id = "avx2",
    order = 20,
    arch = "x86_64",
    about = "AVX2 and FMA",
    header = "immintrin.h",
    target = "avx2,fma",
    needs = { "avx2", "fma" },
    vector = "__m256",
    lanes = 8,
    registers = 16,
    fused = true,
    test = { native = true, run = "qemu-x86_64 -cpu Haswell,"
        .. "pcid=off,x2apic=off,tsc-deadline=off,hle=off,invpcid=off,rtm=off" },
    -- 6 x 2 accumulators, 2 operands and 1 broadcast fill 15 of 16 registers.
    tiles = {
        score_rows = 6,
        score_vectors = 2,
        value_vectors = 2,
        project_rows = 6,
        accumulators = 12,
    },
    functions = {
        transpose = table.concat(transpose, "\n"),
        fold = [[
const __m256 y = _mm256_add_ps(_mm256_loadu_ps(l), _mm256_loadu_ps(l + 8));
__m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
z = _mm_add_ps(z, _mm_movehl_ps(z, z));
return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));]],
        reduce_max = [[
__m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
m = _mm_max_ps(m, _mm_movehl_ps(m, m));
return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));]],
    },
    ops = {
        prefetch = "_mm_prefetch((const char *)($1), _MM_HINT_T0)",
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
        sqrt = "_mm256_sqrt_ps($1)",
        div = "_mm256_div_ps($1, $2)",
        clamp = "_mm256_min_ps(_mm256_set1_ps($3), _mm256_max_ps(_mm256_set1_ps($2), $1))",
        max = "_mm256_max_ps($1, $2)",
        shift_exponent = "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256($1), 23))",
        zero_below = "_mm256_and_ps($1, _mm256_cmp_ps($2, _mm256_set1_ps($3), _CMP_NLT_UQ))",
        negative_infinity = "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_set1_epi32(0x1ff), 23))",
        select_first = "_mm256_blendv_ps($3, $2, _mm256_castsi256_ps(" .. lane_mask .. "))",
    },
}
