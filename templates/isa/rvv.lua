-- RISC-V vectors with a length fixed when generating: an explicit count of lanes, so that the code
-- is right on longer vectors too; on shorter ones the dispatcher does not offer it. Whether there
-- are vectors at all, the build decides (-march=rv64gcv).
--
-- Registers are grouped (LMUL): an instruction of a group does the work of several, which in-order
-- CPUs need to keep their units busy. Two to a group; 512 bits go alone, since the 16 partial sums
-- of the softmax are as wide as a vector may be. Four would leave it 7 groups, too few.
local sets = {}
for index, bits in ipairs { 128, 256, 512 } do
    local group = bits < 512 and 2 or 1
    local lanes, registers = bits // 32 * group, 32 // group
    local f, u, i = "f32m" .. group, "u32m" .. group, "i32m" .. group
    local mask = "b" .. 32 // group
    local function op(name, arguments) -- an intrinsic on all lanes
        return ("__riscv_%s(%s, %d)"):format(name, arguments, lanes)
    end
    local zero = op("vfmv_v_f_" .. f, "0.0f")
    sets[index] = {
        id = "rvv" .. bits,
        order = 50 + index,
        arch = "riscv64",
        about = ("RISC-V vectors of %d bits or more"):format(bits),
        requires = "defined(__riscv_v_intrinsic) && __riscv_v_intrinsic >= 11000 "
            .. "&& __riscv_v_elen_fp >= 32",
        header = "riscv_vector.h",
        needs = { "v", bits .. "-bit vectors" },
        vector = "vfloat32m" .. group .. "_t",
        lanes = lanes,
        factor = "float",
        registers = registers,
        fused = true,
        test = {
            compile = "clang-19 --target=riscv64-linux-gnu -march=rv64gcv -static",
            run = ("qemu-riscv64 -cpu rv64,v=true,vlen=%d,vext_spec=v1.0"):format(bits),
        },
        -- 6 rows and 28 of 32 registers either way: 6 x 2 groups of two and 2 of keys, 6 x 4 and 4.
        -- A broadcast costs no register and no instruction: the other factor is a scalar. One row
        -- takes half the registers for sums, the others for weights.
        tiles = {
            score_rows = 6,
            score_vectors = 4 // group,
            value_vectors = 4 // group,
            project_rows = 6,
            accumulators = 24 // group,
            row_vectors = 8 // group,
        },
        helpers = {
            {
                name = "within",
                gives = "vfloat32m" .. group .. "_t",
                takes = "vfloat32m" .. group .. "_t x, float least, float most",
                about = "x from least to most; a NaN stays one, which vfmax and vfmin lose.",
                body = "x = " .. op("vfmerge_vfm_" .. f, "x, least, "
                        .. op(("vmflt_vf_%s_%s"):format(f, mask), "x, least")) .. ";\nreturn "
                    .. op("vfmerge_vfm_" .. f, "x, most, "
                        .. op(("vmfgt_vf_%s_%s"):format(f, mask), "x, most")) .. ";",
            },
        },
        ops = {
            zero = zero,
            set1 = op("vfmv_v_f_" .. f, "$1"),
            load = op("vle32_v_" .. f, "$1"),
            store = op("vse32_v_" .. f, "$1, $2"),
            store_first = "__riscv_vse32_v_" .. f .. "($2, $3, (size_t)($1))",
            first = ("__riscv_vfmv_f_s_%s_f32($1)"):format(f),
            fma = op("vfmadd_vv_" .. f, "$1, $2, $3"),
            spread = "$1",
            fma_spread = op("vfmacc_vf_" .. f, "$3, $1, $2"),
            mul = op("vfmul_vv_" .. f, "$1, $2"),
            add = op("vfadd_vv_" .. f, "$1, $2"),
            sub = op("vfsub_vv_" .. f, "$1, $2"),
            sqrt = op("vfsqrt_v_" .. f, "$1"),
            div = op("vfdiv_vv_" .. f, "$1, $2"),
            clamp = "$within($1, $2, $3)",
            max = op("vfmax_vv_" .. f, "$1, $2"),
            shift_exponent = ("__riscv_vreinterpret_v_%s_%s(%s)"):format(u, f,
                op("vsll_vx_" .. u, ("__riscv_vreinterpret_v_%s_%s($1), 23"):format(f, u))),
            zero_below = op("vfmerge_vfm_" .. f,
                "$1, 0.0f, " .. op(("vmflt_vf_%s_%s"):format(f, mask), "$2, $3")),
            negative_infinity = ("__riscv_vreinterpret_v_%s_%s(%s)"):format(u, f,
                op("vmv_v_x_" .. u, "0xff800000u")),
            select_first = op("vmerge_vvm_" .. f, "$3, $2, " .. op(
                ("vmslt_vx_%s_%s"):format(i, mask),
                ("__riscv_vreinterpret_v_%s_%s(%s), $1"):format(u, i,
                    ("__riscv_vid_v_%s(%d)"):format(u, lanes)))),
            reduce_max = ("__riscv_vfmv_f_s_f32m1_f32(%s)"):format(
                op(("vfredmax_vs_%s_f32m1"):format(f),
                    "$1, __riscv_vfmv_s_f_f32m1(-FLT_MAX, 1)")),
        },
    }
end
return sets
