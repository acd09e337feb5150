-- SSE4.2 (Nehalem and later): 4 lanes, 16 registers, no fused multiply-add. Products are kept apart
-- from sums, which compilers would fuse where the whole program is built for later CPUs.
return {
    id = "sse4.2",
    order = 10,
    arch = "x86_64",
    about = "SSE4.2",
    header = "nmmintrin.h",
    target = "sse4.2",
    needs = { "sse4.2" },
    vector = "__m128",
    lanes = 4,
    registers = 10, -- of 16: instructions of two operands need copies, and products a place
    fused = false,
    test = { native = true, run = "qemu-x86_64 -cpu Nehalem" },
    -- 4 x 2 accumulators, 2 vectors of keys, a broadcast and a product.
    tiles = {
        score_rows = 4,
        score_vectors = 2,
        value_vectors = 2,
        project_rows = 4,
        accumulators = 8,
        row_vectors = 4,
    },
    helpers = {
        {
            name = "product",
            gives = "__m128",
            takes = "__m128 x, __m128 y",
            about = "x * y, rounded: out of sight of compilers, which like to fuse it with a sum.",
            body = [[
__m128 product = _mm_mul_ps(x, y);
#if defined(__GNUC__) || defined(__clang__)
__asm__("" : "+x"(product));
#endif
return product;]],
        },
        {
            name = "multiply_add",
            gives = "__m128",
            takes = "__m128 x, __m128 y, __m128 z",
            about = "x * y + z, rounded twice. gcc would put the sums off until registers run out.",
            body = [[
z = _mm_add_ps($product(x, y), z);
#if defined(__GNUC__) || defined(__clang__)
__asm__("" : "+x"(z));
#endif
return z;]],
        },
        {
            name = "below",
            gives = "__m128",
            takes = "int n",
            about = "Lanes 0 .. n - 1.",
            body = [[
return _mm_castsi128_ps(_mm_cmplt_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32(n)));]],
        },
    },
    functions = {
        reduce_max = [[
x = _mm_max_ps(x, _mm_movehl_ps(x, x));
return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));]],
        transpose = [[
__m128 r0 = _mm_loadu_ps(source), r1 = _mm_loadu_ps(source + stride);
__m128 r2 = _mm_loadu_ps(source + 2 * stride), r3 = _mm_loadu_ps(source + 3 * stride);
_MM_TRANSPOSE4_PS(r0, r1, r2, r3);
_mm_storeu_ps(target, r0);
_mm_storeu_ps(target + $key_tile, r1);
_mm_storeu_ps(target + 2 * $key_tile, r2);
_mm_storeu_ps(target + 3 * $key_tile, r3);]],
    },
    ops = {
        prefetch = "_mm_prefetch((const char *)($1), _MM_HINT_T0)",
        zero = "_mm_setzero_ps()",
        set1 = "_mm_set1_ps($1)",
        load = "_mm_loadu_ps($1)",
        store = "_mm_storeu_ps($1, $2)",
        first = "_mm_cvtss_f32($1)",
        fma = "$multiply_add($1, $2, $3)",
        mul = "$product($1, $2)",
        add = "_mm_add_ps($1, $2)",
        sub = "_mm_sub_ps($1, $2)",
        sqrt = "_mm_sqrt_ps($1)",
        div = "_mm_div_ps($1, $2)",
        clamp = "_mm_min_ps(_mm_set1_ps($3), _mm_max_ps(_mm_set1_ps($2), $1))",
        max = "_mm_max_ps($1, $2)",
        shift_exponent = "_mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128($1), 23))",
        zero_below = "_mm_and_ps($1, _mm_cmpnlt_ps($2, _mm_set1_ps($3)))",
        negative_infinity = "_mm_castsi128_ps(_mm_slli_epi32(_mm_set1_epi32(0x1ff), 23))",
        select_first = "_mm_blendv_ps($3, $2, $below($1))",
    },
}
