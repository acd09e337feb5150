$ -- The activation of the feed-forward.
$ if shape.block and shape.block.ffn > 0 then
$   local block = shape.block
$   local act = block.act
$   -- (x) +0 where arg < least; NaN passes
$   local function zero_where_below(x, arg, least)
$     return has.zero_below and zero_below(x, arg, least) or scale_unless_below(x, zero(), arg, least)
$   end
$   local function constant(x) return set1(float(x)) end
$   if act ~= "relu" and act ~= "relu2" then
$     local c = { 0x1p-1, 0x1p-1, 0x1.fffffcp-3, 0x1.555490p-4, 0x1.5558f8p-6, 0x1.123afcp-8, 0x1.6a22dep-11 }

/* e^(x + more) for x from -87 to 87 and a far smaller `more`: x = n ln 2 + r, half of e^r by a polynomial,
 * times 2^(n + 1). At most 1.3 ulp. NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_exp(${vec} x, ${vec} more)
{
    /* adding 1.5 * 2^23 rounds; its low bits + 128 are the exponent of 2^(n + 1) */
    const ${vec} shifted = ${fma("x", constant(LOG2_E), constant(12583040.0))};
    const ${vec} n = ${sub("shifted", constant(12583040.0))};
    /* ln 2 in two parts, of which n times the first is exact */
    const ${vec} rough = ${fma("n", constant(-0x1.62e4p-1), "x")};
    const ${vec} finer = ${fma("n", constant(-0x1.7f7d1cp-20), "rough")};
    const ${vec} r = ${add("finer", "more")};
    ${vec} y = ${constant(c[7])};
$     for i = 6, 1, -1 do
    y = ${fma("y", "r", constant(c[i]))};
$     end
    return ${fma("y", shift_exponent("shifted"), zero())};
}
$   end
$   local about = {
$     relu = "max(x, 0)", relu2 = "max(x, 0)^2",
$     silu = "x / (1 + e^-x), +0 below -87. At most 2 ulp.",
$     quick_gelu = "x / (1 + e^(-1.702 x)), +0 below -51. At most 2 ulp" .. (isa.fused and "." or ", and |x| ulp where it is negative."),
$     gelu_tanh = "x (1 + tanh u) / 2 = x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3), +0 below -10. At most 2 ulp,\n * and where x is negative 2 |u| ulp more.",
$     gelu = "x P(X <= x) of the normal distribution, x (1 + erf(x / sqrt 2)) / 2, as max(x, 0) - |x| P(X > |x|), +0 below -13:\n * P(X > a) is e^(-a^2 / 2) times a fraction of polynomials. At most 3 ulp, with unfused products x^2 / 2 ulp more where\n * x is negative.",
$   }

/* ${about[act]} NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_act(${vec} x)
{
$   if act == "relu" then
    return ${zero_where_below("x", "x", float(0.0))};
$   elseif act == "relu2" then
    const ${vec} y = ${zero_where_below("x", "x", float(0.0))};
    return ${mul("y", "y")};
$   elseif act == "gelu" then
    const ${vec} z = ${clamp("x", float(-13.0), float(13.0))}, minus_z = ${sub(zero(), "z")};
    const ${vec} above = ${zero_where_below("z", "z", float(0.0))}, below = ${zero_where_below("minus_z", "minus_z", float(0.0))};
    const ${vec} a = ${add("above", "below")}, minus_a = ${sub(zero(), "a")}, minus_half = ${mul("a", constant(-0.5))};
    const ${vec} product = ${mul("a", "minus_half")}, minus_product = ${sub(zero(), "product")};
    const ${vec} power = ${call("exp", "product", fma("a", "minus_half", "minus_product"))}; /* with what the product's rounding lost */
$     local function series(name, list)
    ${vec} ${name} = ${constant(list[#list])};
$       for i = #list - 1, 1, -1 do
    ${name} = ${fma(name, "a", constant(list[i]))};
$       end
$     end
$     series("over", { 0x1p-1, 0x1.bd89c2p-2, 0x1.726d08p-3, 0x1.465afap-5, 0x1.060f0ap-8 })
$     series("under", { 0x1p0, 0x1.ab0710p0, 0x1.3152fep0, 0x1.da59c4p-2, 0x1.990e94p-4, 0x1.486fe2p-7 })
    over = ${mul("over", "minus_a")};
    const ${vec} tail = ${div("over", "under")}; /* -|x| P(X > |x|) e^(x^2 / 2) */
    const ${vec} positive = ${zero_where_below("x", "x", float(0.0))};
    const ${vec} y = ${fma("tail", "power", "positive")};
    return ${zero_where_below("y", "x", float(-13.0))};
$   else
$     local least = act == "silu" and 87.0 or act == "quick_gelu" and 51.0 or 10.0
    const ${vec} z = ${clamp("x", float(-least), float(least))};
$     if act == "silu" then
    const ${vec} minus_z = ${sub(zero(), "z")};
    const ${vec} power = ${call("exp", "minus_z", zero())};
$     else
$       if act == "quick_gelu" then
    const ${vec} factor = ${constant(-0x1.b3b646p0)};
$       else
    const ${vec} square = ${mul("z", "z")};
    const ${vec} factor = ${fma("square", constant(-0x1.2444f2p-4), constant(-0x1.988454p0))};
$       end
    const ${vec} product = ${mul("z", "factor")}, minus_product = ${sub(zero(), "product")};
    const ${vec} rest = ${fma("z", "factor", "minus_product")}; /* what the product's rounding lost */
$       if act == "quick_gelu" then
    const ${vec} power = ${call("exp", "product", fma("z", constant(0x1.78d4fep-26), "rest"))};
$       else
    const ${vec} power = ${call("exp", "product", "rest")};
$       end
$     end
    const ${vec} under = ${add("power", constant(1.0))};
    const ${vec} y = ${div("x", "under")};
    return ${zero_where_below("y", "x", float(-least))};
$   end
}

/* Rows of a tile, ${plan.PANEL} columns each: ${block.gated and "tile = act(gate) * tile" or "tile = act(tile)"}. */
static ${ID}_CODE void ${id}_activate(size_t rows, float *tile, size_t stride${block.gated and ", const float *gate" or ""})
{
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < ${plan.PANEL}; c += ${W}) {
            float *const at = tile + r * stride + c;
$   if block.gated then
            const ${vec} y = ${call("act", load(("gate + r * %d + c"):format(plan.PANEL)))};
            ${store("at", mul("y", load("at")))};
$   else
            const ${vec} x = ${load("at")};
            ${store("at", call("act", "x"))};
$   end
        }
}
$ end
