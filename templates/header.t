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
 *   thread is started, no variable is kept but the choice of the instruction set.
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
$ if rope then
 *   rope      q and k turn by position * theta^(-2i / ${rope.rotary_dim}), theta = ${float_text(rope.theta)}: channels
 *             ${rope.layout == "half" and ("i and i + %d"):format(rope.rotary_dim // 2) or "2i and 2i + 1"} of each head are a pair, i < ${rope.rotary_dim // 2}; the cache holds k after it
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
 * copied. The first ${plan.ALIGN} bytes: a mark and the number of positions held, 64 bits each. Then for each KV
 * head, for each block of ${plan.BLOCK} positions: keys in tiles [${shape.head_dim}][${plan.KEY_TILE} keys], then values in panels of
 * channels, [keys][width], ${panel_widths} wide. Calls on the same cache from several threads are the caller's to order.
 *
 * _reset empties it. NULL, ALIGN. */
${NAME}_API int ${name}_cache_reset(void *cache) ${NAME}_CHECK;

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
$   if shape.sinks then
    const float *sinks; /* [${shape.heads}] */
$   end
} ${name}_weights;

/* Packs the parameters, once: into ${NAME}_WEIGHTS_BYTES at `weights`, the same on every instruction set.
 * The source is not needed afterwards. NULL, ALIGN. */
${NAME}_API int ${name}_pack_weights(const ${name}_weights *source, void *weights) ${NAME}_CHECK;

/* The attention layer: y = Wo attention(rope(Wq x), rope(Wk x), Wv x), biases where the model has them.
 *   x, y   [n][${shape.d_model}]; y may be x, else overlaps no input
 *   cache  appends the n positions at pos (see _cache_append), then attends to all that it holds;
 *          NULL: pos is 0 and the n rows attend to each other${shape.exact and (", n = %d"):format(shape.capacity) or ""}
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
