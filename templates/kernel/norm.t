$ -- Norms of rows.
$ if shape.qk_norm or shape.mla or shape.block then
$   -- Norms that a norm function is written for, by all that it depends on; so q, k and a block share.
$   local functions, names = {}, {}
$   local function norm_row(norm, width)
$     local sign = ("%d %s %s %s"):format(width, norm.type, float(norm.eps), norm.bias)
$     if functions[sign] then return functions[sign] end
$     local id_norm = ("norm_%d"):format(width)
$     while names[id_norm] do id_norm = id_norm .. "_" end
$     functions[sign], names[id_norm] = id_norm, true
$     local whole, rest = width // 16 * 16, width % 16
$     -- Runs over the channels, 16 at a time: step(base, channel) writes what is done with those
$     -- at `base`, `channel` being the first one; the last ones lie in `tail`, followed by zeros.
$     local function over(indent, step)
$       if whole > 16 then
${indent}for (int c = 0; c < ${whole}; c += 16) {
$         step("x + c", "c")
${indent}}
$       elseif whole > 0 then
${indent}{
$         step("x", "0")
${indent}}
$       end
$       if rest > 0 then
${indent}{
$         step("tail", tostring(whole))
${indent}}
$       end
$     end
$     local function sum_up(indent, term)
$       over(indent, function(base)
$         for i = 0, sums - 1 do
${indent}    const ${vec} x${i} = ${load(at(base, i * W))};
${indent}    sum${i} = ${term("x" .. i, "sum" .. i)};
$         end
$       end)
$       for i = 0, sums - 1 do
${indent}${store(at("sums", i * W), "sum" .. i)};
$       end
$     end

/* ${norm.type == "layernorm" and "LayerNorm" or "RMSNorm"} of ${width} channels in place, times w${norm.bias and ", plus b" or ""}. A sum is 16 partial sums, those of the
 * channels with the same index mod 16, folded: the same bits on every instruction set. */
static ${ID}_CODE void ${id}_${id_norm}(float *x, const float *w${norm.bias and ", const float *b" or ""})
{
    float sums[16];
    ${vec} ${each(sums, function(i) return ("sum%d = %s"):format(i, zero()) end)}, factor;
$     if rest > 0 then
    float tail[16] = {0}; /* the last channels, ${rest} */
    memcpy(tail, ${at("x", whole)}, ${rest} * sizeof(float));
$     end
$     if norm.type == "layernorm" then
    for (int pass = 0; pass < 2; pass++) { /* the second takes off what rounding a large mean left */
$       sum_up("        ", function(x, sum) return add(x, sum) end)
        const float mean = ${fold("sums")} / ${float(width + 0.0)};
$       if whole > 0 then
        const ${vec} shift = ${set1("mean")};
        for (int c = 0; c < ${whole}; c += ${W})
            ${store("x + c", sub(load("x + c"), "shift"))};
$       end
$       if rest > 0 then
        for (int i = 0; i < ${rest}; i++)
            tail[i] = tail[i] - mean;
$       end
$       for i = 0, sums - 1 do
        sum${i} = ${zero()};
$       end
    }
$     end
$     sum_up("    ", function(x, sum) return fma(x, x, sum) end)
    factor = ${sqrt(set1(("%s / %s + %s"):format(fold("sums"), float(width + 0.0), float(norm.eps))))};
    factor = ${set1(("1.0f / %s"):format(first("factor")))};
$     over("    ", function(base, channel)
$       local function parameter(name, i) return load(at(channel == "0" and name or name .. " + " .. channel, i * W)) end
$       for i = 0, sums - 1 do
$         local value, weight = mul(load(at(base, i * W)), "factor"), parameter("w", i)
        ${store(at(base, i * W), norm.bias and fma(value, weight, parameter("b", i)) or mul(value, weight))};
$       end
$     end)
$     if rest > 0 then
    memcpy(${at("x", whole)}, tail, ${rest} * sizeof(float));
$     end
}
$     return id_norm
$   end
$   local function norm_of(which, heads, packed)
$     local norm = shape.qk_norm
$     local id_norm = norm_row(norm, packed.width)

static ${ID}_CODE void ${id}_norm_${which}(float *x, size_t n, const float *w)
{
    for (size_t row = 0; row < n; row++)
$     if norm.width == "full" then
        ${id}_${id_norm}(x + row * ${packed.width}, w${norm.bias and (", w + %d"):format(packed.bias) or ""});
$     else
        for (size_t head = 0; head < ${heads}; head++, x += ${hd})
$       local own = norm.weights == "per_head" and (" + head * %d"):format(packed.stride) or ""
            ${id}_${id_norm}(x, w${own}${norm.bias and (", w%s + %d"):format(own, packed.bias) or ""});
$     end
}
$   end
$   if shape.qk_norm then
$     norm_of("q", shape.heads, layout.q_norm)
$     norm_of("k", shape.kv_heads, layout.k_norm)
$   end
$   if shape.block then
$     local block, packed = shape.block, layout.norm
$     local id_norm = norm_row({ type = block.norm, eps = block.eps, bias = block.norm_bias or nil }, packed.width)

static ${ID}_CODE void ${id}_norm(const float *x, const float *w, float *y)
{
    if (y != x)
        memcpy(y, x, ${packed.width} * sizeof(float));
    ${id}_${id_norm}(y, w${packed.bias and (", w + %d"):format(packed.bias) or ""});
}

$     local whole, rest = packed.width // W * W, packed.width % W
$     local scaled, multiplier = block.layer_scale, block.residual_multiplier
$     local function term(x, a, s)
$       if scaled then return fma(a, load(s), x) end
$       return multiplier and fma(a, set1(float(multiplier)), x) or add(x, a)
$     end
static ${ID}_CODE void ${id}_add(const float *x, const float *a, ${scaled and "const float *s, " or ""}float *y)
{
$     if whole > 0 then
    for (int c = 0; c < ${whole}; c += ${W}) {
        const ${vec} u = ${load("x + c")}, v = ${load("a + c")};
        ${store("y + c", term("u", "v", "s + c"))};
    }
$     end
$     if rest > 0 then
    {
        float u[${W}] = {0}, v[${W}] = {0};
        memcpy(u, ${at("x", whole)}, ${rest} * sizeof(float));
        memcpy(v, ${at("a", whole)}, ${rest} * sizeof(float));
        const ${vec} last = ${load("u")}, last_a = ${load("v")};
        ${store_first(tostring(rest), at("y", whole), term("last", "last_a", at("s", whole)))};
    }
$     end
}
$   end
$   if shape.mla then
$     local function norm_latent(which, width, stride)
$       local id_norm = norm_row({ type = "rmsnorm", eps = shape.mla.eps }, width)

static ${ID}_CODE void ${id}_norm_${which}(float *x, size_t n, const float *w)
{
    for (size_t row = 0; row < n; row++)
        ${id}_${id_norm}(x + row * ${stride}, w);
}
$     end
$     if shape.mla.q_rank then norm_latent("q", shape.mla.q_rank, shape.mla.q_rank) end
$     norm_latent("kv", shape.mla.kv_rank, hd)
$   end
$ end
