-- WebAssembly's 128-bit SIMD: 4 lanes, no fused multiply-add.
return {
    id = "wasm128",
    order = 60,
    arch = "wasm32",
    about = "WebAssembly SIMD128",
    requires = "defined(__wasm_simd128__)",
    header = "wasm_simd128.h",
    needs = { "simd128" },
    vector = "v128_t",
    lanes = 4,
    registers = 12, -- as SSE4.2, which engines translate it to on x86
    fused = false,
    test = {
        compile = "clang-19 --target=wasm32-wasi --sysroot=/usr -msimd128",
        -- Where WASI's functions are fast calls, collecting garbage in one of them crashes node, as
        -- memories of some 100 MB make it do (nodejs/node issue 46777).
        run = "node --no-warnings --no-turbo-fast-api-calls tests/foreign/wasi.mjs",
    },
    -- 4 x 2 accumulators: a product needs a register too before it is added, and engines allot
    -- registers in one quick pass.
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
            name = "below",
            gives = "v128_t",
            takes = "int n",
            about = "Lanes 0 .. n - 1.",
            body = "return wasm_i32x4_lt(wasm_i32x4_const(0, 1, 2, 3), wasm_i32x4_splat(n));",
        },
    },
    functions = {
        transpose = [[
const v128_t r0 = wasm_v128_load(source), r1 = wasm_v128_load(source + stride);
const v128_t r2 = wasm_v128_load(source + 2 * stride), r3 = wasm_v128_load(source + 3 * stride);
const v128_t p0 = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5);
const v128_t p1 = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7);
const v128_t p2 = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5);
const v128_t p3 = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
wasm_v128_store(target, wasm_i64x2_shuffle(p0, p2, 0, 2));
wasm_v128_store(target + $key_tile, wasm_i64x2_shuffle(p0, p2, 1, 3));
wasm_v128_store(target + 2 * $key_tile, wasm_i64x2_shuffle(p1, p3, 0, 2));
wasm_v128_store(target + 3 * $key_tile, wasm_i64x2_shuffle(p1, p3, 1, 3));]],
    },
    ops = {
        zero = "wasm_f32x4_const_splat(0.0f)",
        set1 = "wasm_f32x4_splat($1)",
        load = "wasm_v128_load($1)",
        store = "wasm_v128_store($1, $2)",
        first = "wasm_f32x4_extract_lane($1, 0)",
        fma = "wasm_f32x4_add(wasm_f32x4_mul($1, $2), $3)",
        mul = "wasm_f32x4_mul($1, $2)",
        add = "wasm_f32x4_add($1, $2)",
        sub = "wasm_f32x4_sub($1, $2)",
        sqrt = "wasm_f32x4_sqrt($1)",
        div = "wasm_f32x4_div($1, $2)",
        clamp =
            "wasm_f32x4_pmin(wasm_f32x4_pmax($1, wasm_f32x4_splat($2)), wasm_f32x4_splat($3))",
        max = "wasm_f32x4_pmax($2, $1)",
        shift_exponent = "wasm_i32x4_shl($1, 23)",
        zero_below = "wasm_v128_andnot($1, wasm_f32x4_lt($2, wasm_f32x4_splat($3)))",
        negative_infinity = "wasm_u32x4_const_splat(0xff800000u)",
        select_first = "wasm_v128_bitselect($2, $3, $below($1))",
    },
}
