-- AArch64's Advanced SIMD, which every such CPU has: 4 lanes, 32 registers.
return {
    id = "neon",
    order = 40,
    arch = "aarch64",
    about = "AArch64 Advanced SIMD",
    header = "arm_neon.h",
    needs = { "asimd" },
    vector = "float32x4_t",
    lanes = 4,
    registers = 32,
    fused = true,
    gcc_tile = {
        option = "no-schedule-insns",
        why = "gcc would move loads so far ahead that it runs out of registers",
    },
    test = {
        compile = "aarch64-linux-gnu-gcc -static",
        run = "qemu-aarch64 -cpu max",
    },
    -- 5 x 4 accumulators, 4 vectors of keys and a broadcast: 20 FMAs for 9 loads, and 7 registers
    -- left for loads ahead of their use. 6 x 4 spilled, by gcc and clang; 8 x 3 vectors would
    -- straddle tiles of 32 keys. One row of 16 vectors spilled too.
    tiles = {
        score_rows = 5,
        score_vectors = 4,
        value_vectors = 4,
        project_rows = 5,
        accumulators = 20,
        row_vectors = 8,
    },
    helpers = {
        {
            name = "below",
            gives = "uint32x4_t",
            takes = "int n",
            about = "Lanes 0 .. n - 1.",
            body = [[
static const int32_t index[4] = {0, 1, 2, 3};
return vcltq_s32(vld1q_s32(index), vdupq_n_s32(n));]],
        },
    },
    functions = {
        transpose = [[
const float32x4_t r0 = vld1q_f32(source), r1 = vld1q_f32(source + stride);
const float32x4_t r2 = vld1q_f32(source + 2 * stride), r3 = vld1q_f32(source + 3 * stride);
const float32x4_t p0 = vzip1q_f32(r0, r2), p1 = vzip2q_f32(r0, r2);
const float32x4_t p2 = vzip1q_f32(r1, r3), p3 = vzip2q_f32(r1, r3);
vst1q_f32(target, vzip1q_f32(p0, p2));
vst1q_f32(target + $key_tile, vzip2q_f32(p0, p2));
vst1q_f32(target + 2 * $key_tile, vzip1q_f32(p1, p3));
vst1q_f32(target + 3 * $key_tile, vzip2q_f32(p1, p3));]],
    },
    ops = {
        zero = "vdupq_n_f32(0.0f)",
        set1 = "vdupq_n_f32($1)",
        load = "vld1q_f32($1)",
        store = "vst1q_f32($1, $2)",
        first = "vgetq_lane_f32($1, 0)",
        fma = "vfmaq_f32($3, $1, $2)",
        mul = "vmulq_f32($1, $2)",
        add = "vaddq_f32($1, $2)",
        sub = "vsubq_f32($1, $2)",
        sqrt = "vsqrtq_f32($1)",
        div = "vdivq_f32($1, $2)",
        clamp = "vminq_f32(vmaxq_f32($1, vdupq_n_f32($2)), vdupq_n_f32($3))",
        max = "vmaxnmq_f32($1, $2)",
        shift_exponent = "vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32($1), 23))",
        zero_below = "vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32($1), "
            .. "vcltq_f32($2, vdupq_n_f32($3))))",
        negative_infinity = "vreinterpretq_f32_u32(vdupq_n_u32(0xff800000u))",
        select_first = "vbslq_f32($below($1), $2, $3)",
        reduce_max = "vmaxnmvq_f32($1)",
    },
}
