-- Plain C99, one lane a vector: runs everywhere, and is the definition that every other set must
-- equal bit for bit, those with a fused multiply-add the one, those without the other.
local fused = {
    name = "fused",
    gives = "float",
    takes = "float a, float b, float c",
    about = "a * b + c in one rounding. Without the instruction: the product is exact in double, "
        .. "and a sum\n * rounded to odd stays right when it is rounded again to float.",
    body = [[
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__aarch64__)
return __builtin_fmaf(a, b, c);
#else
const double product = (double)a * (double)b, addend = (double)c;
double sum = product + addend;
const double part = sum - product;
const double error = (product - (sum - part)) + (addend - part);
uint64_t bits;
memcpy(&bits, &sum, sizeof bits);
if ((error > 0.0 || error < 0.0) && (bits & 1u) == 0) {
    bits += (error > 0.0) == (sum > 0.0) ? 1u : UINT64_MAX;
    memcpy(&sum, &bits, sizeof sum);
}
return (float)sum;
#endif]],
}
local product = {
    name = "product",
    gives = "float",
    takes = "float a, float b",
    about = "a * b, rounded: out of sight of compilers, which like to fuse a product with a sum.",
    body = [[
float product = a * b;
#if !defined(__GNUC__) && !defined(__clang__) || defined(__wasm__) /* which cannot fuse */
#elif defined(__x86_64__)
__asm__("" : "+x"(product));
#elif defined(__aarch64__)
__asm__("" : "+w"(product));
#else
__asm__("" : "+m"(product));
#endif
return product;]],
}

local root = {
    name = "root",
    gives = "float",
    takes = "float x",
    about = "The square root, rounded, of x >= 2^-126: in integers, since there is no libm. "
        .. "The root of 50 bits\n * has 25, and is never halfway between two floats.",
    body = [[
const uint32_t bits = $to_bits(x), exponent = bits >> 23;
const uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
const uint64_t square = (uint64_t)mantissa << (exponent % 2 == 1 ? 25 : 26);
uint64_t root = 0;
if (exponent >= 0xffu || exponent == 0) /* infinity, NaN, what never comes */
    return x;
for (uint64_t bit = 1u << 24; bit > 0; bit >>= 1)
    if ((root | bit) * (root | bit) <= square)
        root |= bit;
return $from_bits((((exponent + 127u) / 2 - 1) << 23) + (uint32_t)((root + 1) >> 1));]],
}

local function set(id, order, about, first, fma, mul)
    return {
        id = id,
        order = order,
        arch = "any",
        about = about,
        needs = {},
        vector = "float",
        lanes = 1,
        registers = 16,
        fused = first == fused,
        tiles = {
            score_rows = 2,
            score_vectors = 4,
            value_vectors = 4,
            project_rows = 2,
            accumulators = 8,
        },
        test = { native = true },
        helpers = {
            first,
            {
                name = "to_bits",
                gives = "uint32_t",
                takes = "float x",
                about = "The 32 bits of a float.",
                body = "uint32_t bits;\nmemcpy(&bits, &x, sizeof bits);\nreturn bits;",
            },
            {
                name = "from_bits",
                gives = "float",
                takes = "uint32_t bits",
                about = "The float of 32 bits.",
                body = "float x;\nmemcpy(&x, &bits, sizeof x);\nreturn x;",
            },
            root,
        },
        ops = {
            zero = "0.0f",
            set1 = "$1",
            load = "*($1)",
            store = "*($1) = $2",
            first = "$1",
            fma = fma,
            mul = mul,
            add = "$1 + $2",
            sub = "$1 - $2",
            sqrt = "$root($1)",
            div = "$1 / $2",
            clamp = "($1 < $2 ? $2 : $1 > $3 ? $3 : $1)",
            max = "($1 > $2 ? $1 : $2)",
            shift_exponent = "$from_bits($to_bits($1) << 23)",
            zero_below = "($2 < $3 ? 0.0f : $1)",
            negative_infinity = "$from_bits(0xff800000u)",
            select_first = "($1 > 0 ? $2 : $3)",
            reduce_max = "$1",
        },
    }
end

return {
    set("scalar", 0, "plain C, any machine", fused, "$fused($1, $2, $3)", "$1 * $2"),
    set("scalar_unfused", -10, "plain C, products rounded before sums", product,
        "$product($1, $2) + $3", "$product($1, $2)"),
}
