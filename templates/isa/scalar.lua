-- Plain C99: runs everywhere and is the definition that every other set must equal bit for bit.
-- One lane a vector. fma is one rounding by definition; where the machine has no such instruction
-- the template's `fused` helper makes it from double arithmetic.
return {
    id = "scalar",
    order = 0,
    arch = "any",
    about = "plain C, any machine",
    guard = "1",
    needs = {},
    vector = "float",
    lanes = 1,
    registers = 16,
    fused = true,
    tiles = {
        score_rows = 2,
        score_vectors = 4,
        value_vectors = 4,
        project_rows = 2,
        accumulators = 8,
    },
    ops = {
        zero = "0.0f",
        set1 = "$1",
        load = "*($1)",
        store = "*($1) = $2",
        first = "$1",
        fma = "$fused($1, $2, $3)",
        mul = "$1 * $2",
        add = "$1 + $2",
        sub = "$1 - $2",
        max = "($1 > $2 ? $1 : $2)",
        shift_exponent = "$from_bits($to_bits($1) << 23)",
        zero_below = "($2 < $3 ? 0.0f : $1)",
        negative_infinity = "$from_bits(0xff800000u)",
        select_first = "($1 > 0 ? $2 : $3)",
        reduce_max = "$1",
    },
}
