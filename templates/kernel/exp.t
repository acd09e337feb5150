$ -- Powers of two and their logarithms, and what is made of them.
$ -- exp2 in units that the path needs: the magic path keeps y / 2 and multiplies by 2^(n + 1).
$ local half = not has.scale_unless_below and 0.5 or 1
$ -- Below it a weight is +0. Biases make weights of every size: none may be so small that its
$ -- products with values are subnormal, which takes CPUs many times as long.
$ local least = plan.biased(shape) and -96.0 or -126.0
$ local c = { 0x1p0, 0x1.62e424p-1, 0x1.ebf9b0p-3, 0x1.c6ba92p-5, 0x1.3ced02p-7, 0x1.5ab260p-10 }
$ local function coefficient(i) return set1(float(c[i + 1] * half)) end

/* 2^x for x <= 0: n = x rounded to nearest even, a polynomial in x - n, times 2^n; +0 below ${tostring(math.tointeger(least))}.
 * At most ${isa.fused and "1.8" or "2.1"} ulp. NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_exp2(${vec} x)
{
$ if has.scale_unless_below then
    const ${vec} f = ${minus_rounded("x")};
    const ${vec} n = ${sub("x", "f")};
$ else
    /* adding 1.5 * 2^23 rounds; its low bits + 128 are the exponent of 2^(n + 1) */
    const ${vec} shifted = ${add("x", set1(float(12583040.0)))};
    const ${vec} n = ${sub("shifted", set1(float(12583040.0)))};
    const ${vec} f = ${sub("x", "n")};
$ end
    ${vec} y = ${fma(coefficient(5), "f", coefficient(4))};
$ for i = 3, 0, -1 do
    y = ${fma("y", "f", coefficient(i))};
$ end
$ if has.scale_unless_below then
    return ${scale_unless_below("y", "n", "x", float(least))};
$ else
    /* an fma, not a product: the sum that follows could swallow a product's rounding */
    y = ${fma("y", shift_exponent("shifted"), zero())};
    return ${zero_below("y", "x", float(least))};
$ end
}
$ if shape.softcap then
$   local cap = shape.softcap
$   local e = { 0x1.62e42ep-2, -0x1.c6a728p-7, 0x1.573eb4p-11 }

/* c * log2 e * tanh(s / c), c = ${float_text(cap)}, of z = 2 * log2 e * s / c. n is z rounded, f the rest. With
 * p = 2^n and t = tanh of f's share, by a polynomial that keeps the digits of small scores, it is
 * tanh = (p - 1 + t (p + 1)) / (p + 1 + t (p - 1)). From z = 30 on, that is 1. NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_soft_cap(${vec} score)
{
    const ${vec} z = ${clamp("score", float(-30.0), float(30.0))};
    /* adding 1.5 * 2^23 rounds; its low bits + 128 are the exponent of 2^(n + 1) */
    const ${vec} shifted = ${add("z", set1(float(12583040.0)))};
    const ${vec} twice = ${shift_exponent("shifted")}; /* 2 p */
$   if has.minus_rounded then
    const ${vec} f = ${minus_rounded("z")};
$   else
    const ${vec} n = ${sub("shifted", set1(float(12583040.0)))};
    const ${vec} f = ${sub("z", "n")};
$   end
    const ${vec} square = ${mul("f", "f")};
    const ${vec} series = ${fma(fma(set1(float(e[3])), "square", set1(float(e[2]))), "square", set1(float(e[1])))};
    const ${vec} t = ${mul("f", "series")};
    const ${vec} a = ${sub("twice", set1(float(2.0)))}, b = ${add("twice", set1(float(2.0)))};
    const ${vec} over = ${fma("t", "b", "a")}, under = ${fma("t", "a", "b")};
    const ${vec} tanh = ${div("over", "under")};
    return ${mul("tanh", set1(float(cap * LOG2_E)))};
}
$ end
$ if shape.lse then
$   local LN_2 = 1 / LOG2_E

/* ln x for the sums of weights, x >= 0: x = 2^n f, f from sqrt(1/2) to sqrt(2), ln f = 2 artanh t of
 * t = (f - 1) / (f + 1), by its series. A few ulp. -infinity for 0; infinity and NaN pass. */
static ${ID}_CODE float ${id}_ln(float x)
{
    uint32_t bits;
    if (!(x > 0.0f && x <= FLT_MAX))
        return x == 0.0f ? ${first(negative_infinity())} : x;
    memcpy(&bits, &x, sizeof bits);
    {
        const int n = (int)((bits + ${("0x%xu"):format(0x3f800000 - 0x3f3504f3)}) >> 23) - 127;
        float f;
        bits -= (uint32_t)n << 23;
        memcpy(&f, &bits, sizeof f);
        {
            const ${vec} t = ${set1("(f - 1.0f) / (f + 1.0f)")}, square = ${mul("t", "t")};
            const ${vec} cube = ${mul("t", "square")}, twice = ${add("t", "t")};
            ${vec} series = ${set1(float(2 / 9))};
$   for _, i in ipairs { 7, 5, 3 } do
            series = ${fma("series", "square", set1(float(2 / i)))};
$   end
            series = ${fma("series", "cube", "twice")};
            return ${first(fma(set1("(float)n"), set1(float(LN_2)), "series"))};
        }
    }
}

/* ln of sum * 2^m, m in units of log2 */
static ${ID}_CODE float ${id}_lse(float m, float sum)
{
    return ${first(fma(set1("m"), set1(float(LN_2)), set1(id .. "_ln(sum)")))};
}
$ end
