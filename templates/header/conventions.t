$ -- The head of the header: what the numbers mean, in words and formulas. `layer`, `rope`, `norm`, `block`
$ -- and `unfused` are read by the header's other parts, too.
$ block = shape.block
$ layer, rope, norm = shape.emit ~= "attention", shape.rope, shape.qk_norm
#ifndef ${NAME}_H
#define ${NAME}_H

/*
 * ${title}
 *
 * Conventions
 *   Arrays are dense, row-major, float; they need no alignment beyond a float's. `cache`, `weights`
 *   and `scratch` are the caller's memory, aligned to ${NAME}_ALIGN bytes. Nothing is allocated, no
 *   thread is started, no variable is kept but the choice of the instruction set. Optimised, no
 *   function takes more than ${plan.STACK_BYTES} bytes of stack; with -O0, tiles take up to some 200 KiB.
 *   scores    ${float_text(shape.scale)} * <q, k>
$ local conditions = {}
$ if shape.causal then conditions[1] = "j <= i" end
$ if shape.window > 0 then
$   conditions[#conditions + 1] = ("i - j < %d"):format(shape.window)
$ end
$ if shape.window_right > 0 then
$   conditions[#conditions + 1] = ("j - i < %d"):format(shape.window_right)
$ end
$ if #conditions > 0 then
 *   visible   key j to the query at position i if ${table.concat(conditions, " and ")}; positions count from 0 over
 *             the whole sequence
$   if shape.window > 0 or shape.window_right > 0 then
 *   window    ${shape.window > 0 and ("%d keys up to the own one, which counts"):format(shape.window) or ""}${shape.window > 0 and shape.window_right > 0 and "; " or ""}${shape.window_right > 0 and ("%d keys from the own one on, which counts"):format(shape.window_right) or ""}
$   end
$ else
 *   visible   every key${shape.cross and " of the source" or ""} to every query
$ end
$ if shape.key_range then
 *   range     and only keys j with first_key <= j < end_key, whatever else is visible; the work follows it
$ end
$ if shape.softcap then
 *   soft cap  a score s becomes c * tanh(s / c), c = ${float_text(shape.softcap)}, before all that follows
$ end
$ if shape.alibi then
 *   ALiBi     plus slope * (j - i), key j and query i; the slopes of heads 0, 1, ...:${alibi_text}
$ end
$ if shape.mask and shape.mask.type == "bool" then
 *   mask      hides key j from query i of a call if mask[i * mask_stride + j] is 0, whatever else is visible;
 *             NULL hides none
$ elseif shape.mask then
 *   bias      plus bias[${shape.mask.heads and "h * bias_head_stride + " or ""}i * bias_stride + j], key j and query i of a call${shape.mask.heads and ", head h" or ""};
 *             -infinity hides the key, whatever else is visible; a row all of whose keys have the least float
 *             sees them alike; above 2.3e38 a bias makes NaN; NULL adds none
$ end
$ if shape.relative_bias then
$   local it = shape.relative_bias
$   local side, exact = bucket_side, bucket_side // 2
 *   relative  plus relative_bias[bucket][head]. With d = ${it.bidirectional and "|i - j|" or "i - j, 0 for keys to the right,"} the bucket is d if
 *             d < ${exact}, else ${exact} + floor(${side - exact} ln(d / ${exact}) / ln(${it.max_distance} / ${exact})), at most ${side - 1}
$   if it.bidirectional then
 *             and, for keys to the right (j > i), ${side} more
$   end
$ end
$ if shape.clip_qkv then
 *   clip      the layer clamps q, k and v to -${("%.9g"):format(shape.clip_qkv)} .. ${("%.9g"):format(shape.clip_qkv)} after their projections${norm and " and norms" or ""}${rope and ", before they turn" or ""}
$ end
$ if shape.sinks then
 *   sinks     the softmax of head h has exp(sinks[h]) once more in its denominator, without a value; a
 *             sink is finite, or -infinity for none
$ end
$ if shape.lse then
 *   lse       the natural logarithm of the softmax's denominator: ln of the sum of exp(score) over the
 *             visible keys${shape.sinks and " and exp(sink)" or ""}; -infinity if there is nothing to sum
$ end
$ if shape.mla then
$   local own, qk, v = shape.mla, mla_layer.expanded.head_dim, mla_layer.expanded.v_head_dim
$   local early = mla_layer.expanded.capacity
 *   latent    keys and values come from c, ${own.kv_rank} channels a position, and k_pe, ${own.rope_dim}:
 *                 [c, k_pe] = Wkva x; c = rmsnorm(c); k_pe turns
 *                 q = ${own.q_rank and "Wqb rmsnorm(Wqa x)" or "Wq x"}, heads of ${qk}: q_nope (${own.nope_dim}), then q_pe (${own.rope_dim}), which turns
 *                 k = [Wkb c, k_pe], v = Wvb c, heads of ${qk} and ${v}; Wkb and Wvb are kv_b_proj
 *                 y = Wo of the heads' outputs; rmsnorm(x) = x / sqrt(mean of x^2 + ${("%.9g"):format(own.eps)}) * w
 *             The cache holds c after its norm and k_pe after its turn, nothing of the heads. Scores
 *             and sums over c come in two forms, which differ in rounding alone:
 *                 expanded   k and v as above, for rows of a call at pos = 0${early < shape.capacity and (" up to position %d"):format(early - 1) or ""}
 *                 latent     <[Wkb^T q_nope, q_pe], [c, k_pe]>, Wvb of the sum of weights times c: for
 *                            all other rows, decode for one
 *             By either of them, with e and n as under Error below and A the largest sum of
 *             (|q_nope| |Wkb| |c| + |q_pe| |k_pe|) scale, a weight is off by at most about
 *             2 (${own.kv_rank + own.nope_dim + own.rope_dim + 4}) e A + 6 e relative, an output of a head by that plus (n + ${own.kv_rank}) e times
 *             sum(weight |Wvb| |c|); so they are apart by twice as much at most.
 *             Values are channels of the keys: they are made of the cache's tiles again for each
 *             block of ${plan.BLOCK} keys, which costs time for few heads and saves ${shape.v_head_dim * 4} bytes a position.
 *             _attention, _cache_append and _cache_attention below are the latent form alone: of q'
 *             and [c, k_pe] to sums of c.
$ else
 *   heads     query head h reads KV head h${layout.group > 1 and (" / %d (rounded down)"):format(layout.group) or ""}
$ end
 *   output    softmax of the visible scores times v; a query that sees no key gives zeros
$ if rope and (rope.scaling or rope.offset) then
$   local scaling, dim = rope.scaling, rope.rotary_dim
$   local function number(x) return ("%.17g"):format(x) end
$   local from = rope.offset and ("(position + %d)"):format(rope.offset) or "position"
$   local apart = (scaling and scaling.type == "proportional" and shape.head_dim or dim) // 2
$   local base = ("theta^(-2i / %d)"):format(scaling and scaling.type == "proportional" and shape.head_dim or dim)
 *   rope      ${shape.mla and "q_pe and k_pe" or "q and k"} turn by ${from} * ${scaling and "w(i)" or base}, theta = ${float_text(rope.theta)}: channels
 *             ${rope.layout == "half" and ("i and i + %d"):format(apart) or "2i and 2i + 1"} of each head are a pair, i < ${dim // 2}; the cache holds k after it
$   if scaling then
$     local kind, factor = scaling.type, scaling.factor and number(scaling.factor)
$     local original = scaling.original_max_position_embeddings
$     if kind == "linear" or kind == "proportional" then
 *             w(i) = ${base}${scaling.factor ~= 1 and " / " .. factor or ""} (${kind})
$     elseif kind == "dynamic" then
$       local length = math.max(shape.capacity, original)
 *             w(i) = t^(-2i / ${dim}), t = theta * (${factor} * ${length} / ${original} - ${number(scaling.factor - 1)})^(${dim} / ${dim - 2}) (dynamic
 *             NTK for a sequence of ${length} positions: here t is the same for shorter ones)
$     elseif kind == "llama3" then
 *             w(i) = (1 - a) * u / ${factor} + a * u (llama3), where u = ${base} and a, within
 *             0 .. 1, is (${original} * u / (2 pi) - ${number(scaling.low_freq_factor)}) / (${number(scaling.high_freq_factor)} - ${number(scaling.low_freq_factor)})
$     elseif kind == "yarn" then
 *             w(i) = a * u / ${factor} + (1 - a) * u (yarn), where u = ${base} and a, within 0 .. 1,
 *             is (i - p(${number(scaling.beta_fast)})) / (p(${number(scaling.beta_slow)}) - p(${number(scaling.beta_fast)})); p(b) = ${dim} ln(${original} / (2 pi b)) / (2 ln theta),
 *             ${scaling.truncate and "the first one rounded down, the second one up, " or ""}at least 0 and at most ${dim - 1};
 *             where both are the same, the second is 0.001 more
$     else
$       local function list(name, factors)
 *             ${name}(i) =
$         for i = 1, #factors, 8 do
$           local row = {}
$           for j = i, math.min(i + 7, #factors) do row[#row + 1] = ("%.10g"):format(factors[j]) end
 *               ${table.concat(row, " ")}
$         end
$       end
$       if rope_switches then
 *             w(i) = ${base} / short(i) in sequences of up to ${original} positions, ${base} / long(i)
 *             in longer ones, from their first position on (longrope). So a cache must be begun for
 *             one of them: _cache_reset or _cache_reset_long; without one, n tells
$         list("short", scaling.short_factor)
$         list("long", scaling.long_factor)
$       else
$         local long = shape.capacity > original
 *             w(i) = ${base} / f(i) (longrope, ${long and "longer than" or "up to"} ${original} positions)
$         list("f", long and scaling.long_factor or scaling.short_factor)
$       end
$     end
$     if scaling.attention_factor and scaling.attention_factor ~= 1 then
 *             cosine and sine are multiplied with ${number(scaling.attention_factor)}
$     end
$   end
$ elseif rope then
 *   rope      ${shape.mla and "q_pe and k_pe" or "q and k"} turn by position * theta^(-2i / ${rope.rotary_dim}), theta = ${float_text(rope.theta)}: channels
 *             ${rope.layout == "half" and ("i and i + %d"):format(rope.rotary_dim // 2) or "2i and 2i + 1"} of each head are a pair, i < ${rope.rotary_dim // 2}; the cache holds k after it
$ end
$ if norm then
$   local top, below = "x", "mean of x^2"
$   if norm.type == "layernorm" then top, below = "(x - mean)", "variance" end
$   local of = norm.width == "full" and "all heads together" or "each head"
$   local when = norm.order == "after_rope" and "after they turned" or rope and "before they turn" or "as projected"
$   local owners = norm.width == "full" and "each channel has its weight" or norm.weights and "each head has its own weights" or "all heads share the weights"
 *   qk norm   ${norm.type == "layernorm" and "LayerNorm" or "RMSNorm"} of q and k, ${of}, ${when}:
 *             ${top} / sqrt(${below} + ${("%.9g"):format(norm.eps)}) * ${norm.unit_offset and "(1 + w)" or "w"}${norm.bias and " + b" or ""}; ${owners};
 *             the cache holds k after it
$ end
$ if block then
$   local m = block.residual_multiplier and ("%.9g * "):format(block.residual_multiplier)
$   local ma, mf = block.layer_scale and "attention_scale * " or m or "", block.layer_scale and "ffn_scale * " or m or ""
$   -- attention's part, the feed-forward's of its sum h, and what their norms are called
$   local parts = {
$     pre = { ("x + %sA(%s)"):format(ma, block.attention_norm == false and "x" or "norm_a(x)"), ("h + %sF(norm_f(h))"):format(mf),
$       block.attention_norm ~= false and "norm_a attention_norm", "norm_f ffn_norm" },
$     post = { ("norm_a(x + %sA(x))"):format(ma), ("norm_f(h + %sF(h))"):format(mf),
$       "norm_a attention_post_norm", "norm_f ffn_post_norm" },
$     sandwich = { ("x + %snorm_b(A(norm_a(x)))"):format(ma), ("h + %snorm_g(F(norm_f(h)))"):format(mf),
$       "norm_a attention_norm, norm_b attention_post_norm", "norm_f ffn_norm, norm_g ffn_post_norm" },
$     res_post = { ("x + %snorm_a(A(x))"):format(ma), ("h + %snorm_f(F(h))"):format(mf),
$       "norm_a attention_post_norm", "norm_f ffn_post_norm" },
$   }
$   local part = parts[block.place]
$   if block.place == "parallel" then
 *   block     with A the attention layer and F the feed-forward, x becomes
 *             y = (x + ${ma}A(norm_a(x))) + ${mf}F(${block.parallel_norms == 2 and "norm_f(x)), norm_a attention_norm, norm_f ffn_norm" or "norm_a(x)), norm_a attention_norm"}
$   elseif block.ffn == 0 then
 *   block     with A the attention layer, x becomes y = ${part[1]}:
 *             ${part[3]}
$   else
 *   block     with A the attention layer and F the feed-forward, x becomes
 *             y = ${part[2]}, h = ${part[1]}:
 *             ${part[3] and part[3] .. ", " or ""}${part[4]}
$   end
$   if block.layer_scale then
 *             attention_scale${block.ffn > 0 and " and ffn_scale have" or " has"} a factor for each channel
$   end
$   local top, below = "v", "mean of v^2"
$   if block.norm == "layernorm" then top, below = "(v - mean)", "variance" end
 *             a norm of v is ${top} / sqrt(${below} + ${("%.9g"):format(block.eps)}) * ${block.unit_offset and "(1 + w)" or "w"}${block.norm_bias and " + b" or ""}
$   if block.ffn > 0 then
 *             F(v) = W_down ${block.gated and "(act(W_gate v) * (W_up v))" or "act(W_up v)"}${block.bias and ", each matrix with its bias" or ""}, ${block.ffn} wide
$   local acts = {
$     gelu = "v (1 + erf(v / sqrt 2)) / 2", silu = "v / (1 + e^-v)", relu = "max(v, 0)", relu2 = "max(v, 0)^2",
$     gelu_tanh = "v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))) / 2", quick_gelu = "v / (1 + e^(-1.702 v))",
$   }
 *             act(v) = ${acts[block.act]} (${block.act})
$   end
$ end
 *   NaN       reaches exactly the outputs that see it; what is not visible is never used
 *
$ unfused = {}
$ for _, set in ipairs(isas) do
$   if not set.fused then unfused[#unfused + 1] = set.id end
$ end
$ if #unfused == 0 or #unfused == #isas then
 * Results are the same to the bit on every instruction set below, for any way to cut a sequence into
$ else
 * Results are the same to the bit on every instruction set below that has a fused multiply-add, and
 * on every one that has not (those of ${NAME}_UNFUSED_ISAS), for any way to cut a sequence into
$ end
$ if shape.mla then
 * calls (but that a layer's rows have a form by their call, see latent), any number of threads, any
 * compiler that keeps IEEE 754 arithmetic (round to nearest).
$ else
 * calls, any number of threads, any compiler that keeps IEEE 754 arithmetic (round to nearest).
$ end
 * Floating-point exceptions must be masked, and their flags mean nothing after a call: lanes that
 * are not used hold anything. With flush-to-zero set, subnormal numbers may differ.
 * Error: with e = 2^-24 and A the largest sum |q k| scale${shape.mask and shape.mask.type == "bias" and " + |bias|" or ""} of any visible key, a weight is off by at
 * most about 2 (${shape.head_dim + 4}) e A + 6 e relative, an output by that plus n e times sum(weight |v|).
$ if shape.lse then
 * A log-sum-exp is off by at most about ${shape.head_dim + 4} e A + 2 e |lse| + 40 e.
$ end
 */
