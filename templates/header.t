$ local layer = shape.emit == "layer"
$ local rope = shape.rope
#ifndef ${NAME}_H
#define ${NAME}_H

/*
 * ${title}
 *
 * Conventions
 *   Arrays are dense, row-major, float; they need no alignment beyond a float's. `cache`, `weights`
 *   and `scratch` are the caller's memory, aligned to ${NAME}_ALIGN bytes. Nothing is allocated, no
 *   thread is started, no variable is kept but the choice of the instruction set. No function takes
 *   more than ${plan.STACK_BYTES} bytes of stack.
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
 *   visible   every key to every query
$ end
$ if shape.softcap then
 *   soft cap  a score s becomes c * tanh(s / c), c = ${float_text(shape.softcap)}, before all that follows
$ end
$ if shape.alibi then
 *   ALiBi     plus slope * (j - i), key j and query i; the slopes of heads 0, 1, ...: ${alibi_text}
$ end
$ if shape.sinks then
 *   sinks     the softmax of head h has exp(sinks[h]) once more in its denominator, without a value; a
 *             sink is finite, or -infinity for none
$ end
 *   heads     query head h reads KV head h / ${layout.group} (rounded down)
 *   output    softmax of the visible scores times v; a query that sees no key gives zeros
$ if rope and (rope.scaling or rope.offset) then
$   local scaling, dim = rope.scaling, rope.rotary_dim
$   local function number(x) return ("%.17g"):format(x) end
$   local from = rope.offset and ("(position + %d)"):format(rope.offset) or "position"
$   local apart = (scaling and scaling.type == "proportional" and shape.head_dim or dim) // 2
$   local base = ("theta^(-2i / %d)"):format(scaling and scaling.type == "proportional" and shape.head_dim or dim)
 *   rope      q and k turn by ${from} * ${scaling and "w(i)" or base}, theta = ${float_text(rope.theta)}: channels
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
 *             ${scaling.truncate and "the first one rounded down, the second one up, " or ""}at least 0 and at most ${dim - 1}
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
 *   rope      q and k turn by position * theta^(-2i / ${rope.rotary_dim}), theta = ${float_text(rope.theta)}: channels
 *             ${rope.layout == "half" and ("i and i + %d"):format(rope.rotary_dim // 2) or "2i and 2i + 1"} of each head are a pair, i < ${rope.rotary_dim // 2}; the cache holds k after it
$ end
$ local norm = shape.qk_norm
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
 *   NaN       reaches exactly the outputs that see it; what is not visible is never used
 *
$ local unfused = {}
$ for _, set in ipairs(isas) do
$   if not set.fused then unfused[#unfused + 1] = set.id end
$ end
$ if #unfused == 0 or #unfused == #isas then
 * Results are the same to the bit on every instruction set below, for any way to cut a sequence into
$ else
 * Results are the same to the bit on every instruction set below that has a fused multiply-add, and
 * on every one that has not (those of ${NAME}_UNFUSED_ISAS), for any way to cut a sequence into
$ end
 * calls, any number of threads, any compiler that keeps IEEE 754 arithmetic (round to nearest).
 * Floating-point exceptions must be masked, and their flags mean nothing after a call: lanes that
 * are not used hold anything. With flush-to-zero set, subnormal numbers may differ.
 * Error: with e = 2^-24 and A the largest sum |q k| scale of any visible key, a weight is off by at
 * most about 2 (${shape.head_dim + 4}) e A + 6 e relative, an output by that plus n e times sum(weight |v|).
 */

#include <stddef.h>
#include <stdint.h>

#if SIZE_MAX < ${most_bytes}
#error "${name} needs up to ${most_bytes} bytes at once, more than a size_t counts here"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ${NAME}_VERSION "${version}"
#define ${NAME}_ISAS "${table.concat(shape.isa, " ")}" /* worst to best */
#define ${NAME}_UNFUSED_ISAS "${table.concat(unfused, " ")}" /* those that round products before sums */

/* The shape. */
#define ${NAME}_D_MODEL ${shape.d_model}
#define ${NAME}_HEADS ${shape.heads}
#define ${NAME}_KV_HEADS ${shape.kv_heads}
#define ${NAME}_HEAD_DIM ${shape.head_dim}
#define ${NAME}_V_HEAD_DIM ${shape.v_head_dim}
#define ${NAME}_CAPACITY ${shape.capacity} /* positions */
#define ${NAME}_EXACT ${shape.exact and 1 or 0} /* 1: without a cache, always exactly so many */
#define ${NAME}_CAUSAL ${shape.causal and 1 or 0}
#define ${NAME}_WINDOW ${shape.window} /* keys up to the own one; 0: all */
#define ${NAME}_WINDOW_RIGHT ${shape.window_right} /* keys from the own one on; 0: all */
#define ${NAME}_SCALE ${float_text(shape.scale)}
#define ${NAME}_SOFTCAP ${float_text(shape.softcap or 0.0)} /* 0: none */
#define ${NAME}_SINKS ${shape.sinks and 1 or 0}
#define ${NAME}_ALIBI ${shape.alibi and 1 or 0}
#define ${NAME}_ALIBI_BIAS_MAX ${float_text(shape.alibi and shape.alibi.bias_max or 0.0)}
#define ${NAME}_ALIBI_SCALE ${float_text(shape.alibi and shape.alibi.scale or 0.0)}
#define ${NAME}_HAS_LAYER ${layer and 1 or 0}
#define ${NAME}_QKV_BIAS ${shape.qkv_bias and 1 or 0}
#define ${NAME}_O_BIAS ${shape.o_bias and 1 or 0}
#define ${NAME}_WEIGHTS_IN_OUT ${shape.weights_layout == "in_out" and 1 or 0}
#define ${NAME}_ROTARY_DIM ${rope and rope.rotary_dim or 0}
#define ${NAME}_ROPE_THETA ${float_text(rope and rope.theta or 0.0)}
#define ${NAME}_ROPE_INTERLEAVED ${rope and rope.layout == "interleaved" and 1 or 0}
$ if rope and rope.offset then
#define ${NAME}_ROPE_OFFSET ${rope.offset}
$ end
$ if rope and rope.scaling then
$   local scaling = rope.scaling
$   local function number(name) return float_text(scaling[name] or 0.0) end
$   local function list(name)
$     local texts = {}
$     for i, factor in ipairs(scaling[name] or { 0.0 }) do texts[i] = float_text(factor) end
$     return "{" .. table.concat(texts, ", ") .. "}"
$   end
/* The scaling of rope, by the names of transformers; 0 where it has no such number. */
#define ${NAME}_ROPE_SCALED 1
#define ${NAME}_ROPE_SCALING "${scaling.type}"
#define ${NAME}_ROPE_FACTOR ${number("factor")}
#define ${NAME}_ROPE_ORIGINAL ${scaling.original_max_position_embeddings or 0}
#define ${NAME}_ROPE_ATTENTION_FACTOR ${float_text(scaling.attention_factor or 1.0)}
#define ${NAME}_ROPE_LOW_FREQ_FACTOR ${number("low_freq_factor")}
#define ${NAME}_ROPE_HIGH_FREQ_FACTOR ${number("high_freq_factor")}
#define ${NAME}_ROPE_BETA_FAST ${number("beta_fast")}
#define ${NAME}_ROPE_BETA_SLOW ${number("beta_slow")}
#define ${NAME}_ROPE_TRUNCATE ${scaling.truncate and 1 or 0}
#define ${NAME}_ROPE_SHORT_FACTORS ${list("short_factor")}
#define ${NAME}_ROPE_LONG_FACTORS ${list("long_factor")}
#define ${NAME}_ROPE_SWITCHES ${rope_switches and 1 or 0} /* 1: _cache_reset_long is there */
$ end
$ if norm then
#define ${NAME}_QK_NORM 1
#define ${NAME}_QK_NORM_LAYERNORM ${norm.type == "layernorm" and 1 or 0} /* 0: RMSNorm */
#define ${NAME}_QK_NORM_FULL ${norm.width == "full" and 1 or 0} /* 1: over all heads together */
#define ${NAME}_QK_NORM_AFTER_ROPE ${norm.order == "after_rope" and 1 or 0}
#define ${NAME}_QK_NORM_EPS ${float_text(norm.eps)}
#define ${NAME}_QK_NORM_UNIT_OFFSET ${norm.unit_offset and 1 or 0}
#define ${NAME}_QK_NORM_BIAS ${norm.bias and 1 or 0}
#define ${NAME}_QK_NORM_PER_HEAD ${norm.weights and 1 or 0}
$ end

/* Memory, in bytes. */
#define ${NAME}_ALIGN ${plan.ALIGN}
#define ${NAME}_CACHE_BYTES ${size(memory.cache_bytes)}
#define ${NAME}_WEIGHTS_BYTES ${size(memory.weights_bytes)}
#define ${NAME}_HEAD_FLOATS ${size(layout.head_floats)} /* packed keys and values of one KV head */
#define ${NAME}_LAYER_BYTES ${size(memory.layer_bytes)}  /* parts of the scratch: rows of the layer, */
#define ${NAME}_THREAD_BYTES ${size(memory.thread_bytes)} /* one thread's own */
#define ${NAME}_MAX_THREADS ${plan.MAX_THREADS}
/* Scratch of any call, with one thread or with a pool of `threads`. */
#define ${NAME}_SCRATCH_BYTES ${size(memory.scratch_bytes)}
#define ${NAME}_SCRATCH_BYTES_FOR(threads)                                                         \
    (${NAME}_LAYER_BYTES + (size_t)${NAME}_KV_HEADS * ${NAME}_HEAD_FLOATS * 4 +                    \
     (size_t)(threads) * ${NAME}_THREAD_BYTES)
/* Scratch of the calls that are given a cache: these need no room for keys and values. */
#define ${NAME}_CACHE_SCRATCH_BYTES ${NAME}_CACHE_SCRATCH_BYTES_FOR(1)
#define ${NAME}_CACHE_SCRATCH_BYTES_FOR(threads)                                                   \
    (${NAME}_LAYER_BYTES + (size_t)(threads) * ${NAME}_THREAD_BYTES)

/* Costs. FLOPs count multiplications and additions${layer and ", projections included" or ""}. */
#define ${NAME}_PARAMETERS ${size(layer and memory.parameters.total or 0)}
#define ${NAME}_KV_BYTES_PER_TOKEN ${size(memory.kv_bytes_per_token)}
#define ${NAME}_FLOPS_PREFILL ${float_text(memory.flops_prefill + 0.0)} /* ${shape.capacity} positions at once */
#define ${NAME}_FLOPS_DECODE ${float_text(memory.flops_decode + 0.0)}  /* one position more, the cache full */

/* Status. Whenever it is not 0, nothing has been written. */
#define ${NAME}_OK 0
#define ${NAME}_ERROR_NULL (-1)    /* a pointer that is needed is NULL */
#define ${NAME}_ERROR_RANGE (-2)   /* n or pos does not fit: the shape, the capacity, the positions
                                    * held; or the pool's number of threads */
#define ${NAME}_ERROR_ALIGN (-3)   /* cache, weights or scratch is not aligned to ${NAME}_ALIGN */
#define ${NAME}_ERROR_CACHE (-4)   /* this memory is no cache of this kernel: reset it first */
#define ${NAME}_ERROR_CPU (-5)     /* this CPU runs none of the instruction sets, or not that one */
#define ${NAME}_ERROR_WEIGHTS (-6) /* this memory holds no packed weights of this kernel */

#if defined(__GNUC__) || defined(__clang__)
#define ${NAME}_CHECK __attribute__((warn_unused_result))
#else
#define ${NAME}_CHECK
#endif
/* Define it before the header to qualify the API, for a DLL for instance. */
#ifndef ${NAME}_API
#define ${NAME}_API
#endif

/* The caller's threads. NULL instead of a pool: all in the calling thread. */
typedef struct ${name}_pool {
    void *self;
    size_t threads; /* 1 to ${NAME}_MAX_THREADS; scratch must be laid out for so many */
    /* Calls task(argument, i) once for each i in 0 .. count - 1 (count <= threads), in any order and
     * on any threads, and returns when all have returned. */
    void (*run)(void *self, void (*task)(void *argument, size_t index), void *argument, size_t count);
} ${name}_pool;

/* Attention of n_q queries to n_kv keys.
 *   q    [n_q][${shape.heads}][${shape.head_dim}]
 *   k    [n_kv][${shape.kv_heads}][${shape.head_dim}], v [n_kv][${shape.kv_heads}][${shape.v_head_dim}] (not used where n_kv is 0)
$ if shape.sinks then
 *   sinks [${shape.heads}]
$ end
 *   out  [n_q][${shape.heads}][${shape.v_head_dim}]${shape.head_dim == shape.v_head_dim and "; may be q, else overlaps no input" or "; overlaps no input"}
$ if shape.exact then
 * n_q and n_kv must be ${shape.capacity}.
$ else
 * n_q, n_kv <= ${shape.capacity}. Query i stands at position n_kv - n_q + i${layout.reach == 1 and " (negative: it sees no key)" or ""}.
$ end
 *   scratch  ${NAME}_SCRATCH_BYTES, or _FOR(pool->threads); its contents before and after mean nothing
 * NULL, RANGE, ALIGN, CPU. */
${NAME}_API int ${name}_attention(const float *q, const float *k, const float *v, size_t n_q, size_t n_kv,
    ${extra_parameters}float *out, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;

/* A KV cache: ${NAME}_CACHE_BYTES of the caller's memory, the same on every instruction set. It may be
 * copied. The first ${plan.ALIGN} bytes: a mark and the number of positions held${rope_switches and ", whether it is a long one" or ""}, 64 bits each. Then for each KV
 * head, for each block of ${plan.BLOCK} positions: keys in tiles [${shape.head_dim}][${plan.KEY_TILE} keys], then values in panels of
 * channels, [keys][width], ${panel_widths} wide. Calls on the same cache from several threads are the caller's to order.
 *
 * _reset empties it. NULL, ALIGN. */
${NAME}_API int ${name}_cache_reset(void *cache) ${NAME}_CHECK;
$ if rope_switches then

/* Empties it for a sequence that will be longer than ${NAME}_ROPE_ORIGINAL positions: the layer turns its keys by
 * the long factors, from the first one on. A sequence that outgrows a cache of _cache_reset has to
 * begin anew in one of these: its keys are other ones. NULL, ALIGN. */
${NAME}_API int ${name}_cache_reset_long(void *cache) ${NAME}_CHECK;
$ end

/* Writes n positions from pos on: k [n][${shape.kv_heads}][${shape.head_dim}], v [n][${shape.kv_heads}][${shape.v_head_dim}]. pos is at most the number held; positions
 * after pos + n are forgotten, so going back to an earlier pos is how to undo. n = 0 changes nothing.
 * NULL, RANGE (past the capacity, or a gap), ALIGN, CACHE, CPU. */
${NAME}_API int ${name}_cache_append(void *cache, size_t pos, size_t n, const float *k,
    const float *v) ${NAME}_CHECK;

/* Attention of the queries at positions pos .. pos + n - 1 to the cache, which must hold them:
 * prefill (pos = 0), a chunk, or decode (n = 1).
 *   q [n][${shape.heads}][${shape.head_dim}], out [n][${shape.heads}][${shape.v_head_dim}]${shape.head_dim == shape.v_head_dim and "; out may be q" or ""}
$ if shape.sinks then
 *   sinks [${shape.heads}]
$ end
 *   scratch  ${NAME}_CACHE_SCRATCH_BYTES, or _FOR(pool->threads)
$ if not shape.causal then
 * ${shape.window == 0 and shape.window_right == 0 and "Every query sees all positions held." or "A query sees what the cache holds of its window."}
$ end
 * NULL, RANGE, ALIGN, CACHE, CPU. */
${NAME}_API int ${name}_cache_attention(const void *cache, size_t pos, size_t n, const float *q, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
$ if layer then
$   local function dims(columns, depth)
$     if shape.weights_layout == "in_out" then columns, depth = depth, columns end
$     return ("[%d][%d]"):format(columns, depth)
$   end

/* The layer's parameters as the model has them, ${shape.weights_layout == "in_out" and "y = x W + b (in_out)" or "y = W x + b (out_in, as PyTorch's Linear)"}. */
typedef struct ${name}_weights {
    const float *wq; /* ${dims(layout.q_width, shape.d_model)} */
    const float *wk; /* ${dims(layout.k_width, shape.d_model)} */
    const float *wv; /* ${dims(layout.v_width, shape.d_model)} */
    const float *wo; /* ${dims(shape.d_model, layout.o_width)} */
$   if shape.qkv_bias then
    const float *bq, *bk, *bv; /* [${layout.q_width}], [${layout.k_width}], [${layout.v_width}] */
$   end
$   if shape.o_bias then
    const float *bo; /* [${shape.d_model}] */
$   end
$   if norm then
$     local function norm_dims(heads)
$       return norm.weights and ("[%d][%d]"):format(heads, shape.head_dim)
$         or ("[%d]"):format(shape.head_dim * (norm.width == "full" and heads or 1))
$     end
    const float *q_norm, *k_norm; /* weights: ${norm_dims(shape.heads)}, ${norm_dims(shape.kv_heads)}${norm.unit_offset and "; 1 is added" or ""} */
$     if norm.bias then
    const float *q_norm_bias, *k_norm_bias; /* likewise */
$     end
$   end
$   if shape.sinks then
    const float *sinks; /* [${shape.heads}] */
$   end
} ${name}_weights;

/* Packs the parameters, once: into ${NAME}_WEIGHTS_BYTES at `weights`, the same on every instruction set.
 * The source is not needed afterwards. NULL, ALIGN. */
${NAME}_API int ${name}_pack_weights(const ${name}_weights *source, void *weights) ${NAME}_CHECK;

$   local order = not norm and "rope(%s)" or norm.order == "after_rope" and "norm(rope(%s))" or rope and "rope(norm(%s))" or "norm(%s)"
/* The attention layer: y = Wo attention(${order:format("Wq x")}, ${order:format("Wk x")}, Wv x), biases where the model has them.
 *   x, y   [n][${shape.d_model}]; y may be x, else overlaps no input
 *   cache  appends the n positions at pos (see _cache_append), then attends to all that it holds;
 *          NULL: pos is 0 and the n rows attend to each other${shape.exact and (", n = %d"):format(shape.capacity) or ""}
$   if rope_switches then
 *          RANGE past ${NAME}_ROPE_ORIGINAL positions unless it was begun by _cache_reset_long
$   end
 *   scratch  ${NAME}_SCRATCH_BYTES without a cache, ${NAME}_CACHE_SCRATCH_BYTES with one, or _FOR(threads)
 * NULL, RANGE, ALIGN, CACHE, WEIGHTS, CPU. */
${NAME}_API int ${name}_layer(const void *weights, void *cache, size_t pos, size_t n, const float *x,
    float *y, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
$ end

/* The instruction set that runs, "none" if the CPU runs none of them. The first call of any function
 * picks the best; looking is safe from any number of threads. */
${NAME}_API const char *${name}_isa(void);

/* Forces one by name, or NULL: the best again. Not while other threads are in a call. CPU. */
${NAME}_API int ${name}_use_isa(const char *isa) ${NAME}_CHECK;

#ifdef __cplusplus
}
#endif
#endif
