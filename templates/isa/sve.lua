-- SVE with a vector length fixed when generating: predicates of so many lanes, so that the code is
-- right on longer vectors too; on shorter ones the dispatcher does not offer it. 32 registers.
local sets = {}
for index, bits in ipairs { 128, 256, 512 } do
    local lanes = bits // 32
    local all = ("svptrue_pat_b32(SV_VL%d)"):format(lanes)
    local below = "svwhilelt_b32_s32(0, $1)"
    sets[index] = {
        id = "sve" .. bits,
        order = 40 + index,
        arch = "aarch64",
        about = ("SVE on vectors of %d bits or more"):format(bits),
        -- Linux says whether the CPU has SVE; elsewhere the whole program must be built for it.
        requires = "defined(__ARM_FEATURE_SVE) || defined(__linux__) && "
            .. "(defined(__clang__) ? __clang_major__ >= 16 : __GNUC__ >= 10)",
        header = "arm_sve.h",
        target = "+sve",
        needs = { "sve", bits .. "-bit vectors" },
        vector = "svfloat32_t",
        lanes = lanes,
        registers = 32,
        fused = true,
        gcc_tile = {
            option = "no-schedule-insns",
            why = "gcc would move loads so far ahead that it runs out of registers",
        },
        test = {
            compile = "aarch64-linux-gnu-gcc -static",
            run = ("qemu-aarch64 -cpu max,sve-default-vector-length=%d"):format(bits // 8),
        },
        -- As NEON: 5 x 4 accumulators, 4 vectors of keys, a broadcast, and registers for loads
        -- ahead of their use. 6 x 4 spilled.
        tiles = {
            score_rows = 5,
            score_vectors = 4,
            value_vectors = 4,
            project_rows = 5,
            accumulators = 20,
            row_vectors = 8,
        },
        ops = {
            zero = "svdup_n_f32(0.0f)",
            set1 = "svdup_n_f32($1)",
            load = "svld1_f32(" .. all .. ", $1)",
            store = "svst1_f32(" .. all .. ", $1, $2)",
            store_first = "svst1_f32(" .. below .. ", $2, $3)",
            first = "svlasta_f32(svpfalse_b(), $1)",
            fma = "svmad_f32_x(" .. all .. ", $1, $2, $3)",
            mul = "svmul_f32_x(" .. all .. ", $1, $2)",
            add = "svadd_f32_x(" .. all .. ", $1, $2)",
            sub = "svsub_f32_x(" .. all .. ", $1, $2)",
            sqrt = "svsqrt_f32_x(" .. all .. ", $1)",
            div = "svdiv_f32_x(" .. all .. ", $1, $2)",
            clamp = "svmin_n_f32_x(" .. all .. ", svmax_n_f32_x(" .. all .. ", $1, $2), $3)",
            max = "svmaxnm_f32_x(" .. all .. ", $1, $2)",
            shift_exponent = "svreinterpret_f32_u32(svlsl_n_u32_x(" .. all
                .. ", svreinterpret_u32_f32($1), 23))",
            zero_below = "svsel_f32(svcmplt_n_f32(" .. all
                .. ", $2, $3), svdup_n_f32(0.0f), $1)",
            negative_infinity = "svreinterpret_f32_u32(svdup_n_u32(0xff800000u))",
            select_first = "svsel_f32(" .. below .. ", $2, $3)",
            reduce_max = "svmaxnmv_f32(" .. all .. ", $1)",
        },
    }
end
return sets
