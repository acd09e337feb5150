-- z/Architecture's vector-enhancements facility (z14 and later; built for it, with -mzvector):
-- 4 lanes, 32 registers, big-endian.
return {
    id = "vxe",
    order = 70,
    arch = "s390x",
    about = "z14 vector enhancements",
    requires = "defined(__VEC__) && defined(__ARCH__) && __ARCH__ >= 12",
    header = "vecintrin.h",
    needs = { "vxe" },
    vector = "__vector float",
    lanes = 4,
    registers = 32,
    fused = true,
    gcc_tile = {
        option = "no-schedule-insns",
        why = "gcc would move loads so far ahead that it runs out of registers",
    },
    test = {
        compile = "s390x-linux-gnu-gcc -march=z15 -mzvector -fexcess-precision=fast -static",
        run = "qemu-s390x -cpu max",
    },
    -- As NEON: 5 x 4 accumulators, 4 vectors of keys, a broadcast, and registers for loads ahead of
    -- their use. 6 x 4 spilled.
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
            name = "within",
            gives = "__vector float",
            takes = "__vector float x, float least, float most",
            about = "x from least to most; a NaN stays one.",
            body = [[
const __vector float low = vec_splats(least), high = vec_splats(most);
x = vec_sel(x, low, vec_cmplt(x, low));
return vec_sel(x, high, vec_cmpgt(x, high));]],
        },
        {
            name = "below",
            gives = "__vector __bool int",
            takes = "int n",
            about = "Lanes 0 .. n - 1.",
            body = [[
const __vector int index = {0, 1, 2, 3};
return vec_cmplt(index, vec_splats(n));]],
        },
    },
    ops = {
        zero = "vec_splats(0.0f)",
        set1 = "vec_splats((float)($1))",
        load = "vec_xl(0, $1)",
        store = "vec_xst($2, 0, $1)",
        first = "vec_extract($1, 0)",
        fma = "vec_madd($1, $2, $3)",
        mul = "(($1) * ($2))",
        add = "(($1) + ($2))",
        sub = "(($1) - ($2))",
        sqrt = "vec_sqrt($1)",
        div = "(($1) / ($2))",
        clamp = "$within($1, $2, $3)",
        max = "vec_sel($2, $1, vec_cmpgt($1, $2))",
        shift_exponent = "((__vector float)((__vector unsigned int)($1) << 23))",
        zero_below = "vec_sel($1, vec_splats(0.0f), vec_cmplt($2, vec_splats((float)($3))))",
        negative_infinity = "((__vector float)vec_splats(0xff800000u))",
        select_first = "vec_sel($3, $2, $below($1))",
    },
}
