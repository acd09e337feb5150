$ -- The shape, sizes and status codes as macros.

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
$ if layout.cache.ring then
#define ${NAME}_CACHE_POSITIONS ${layout.cache.positions} /* that a cache holds: the latest ones */
#define ${NAME}_CHUNK ${layout.cache.chunk} /* positions that one call may bring to a cache */
$ else
$   if shape.cross then
#define ${NAME}_CACHE_POSITIONS ${layout.keys} /* of the source, that a cache holds */
$   else
#define ${NAME}_CACHE_POSITIONS ${NAME}_CAPACITY /* that a cache holds */
$   end
#define ${NAME}_CHUNK ${NAME}_CACHE_POSITIONS /* positions that one call may bring to a cache */
$ end
#define ${NAME}_CAUSAL ${shape.causal and 1 or 0}
#define ${NAME}_WINDOW ${shape.window} /* keys up to the own one; 0: all */
#define ${NAME}_WINDOW_RIGHT ${shape.window_right} /* keys from the own one on; 0: all */
#define ${NAME}_SCALE ${float_text(shape.scale)}
#define ${NAME}_SOFTCAP ${float_text(shape.softcap or 0.0)} /* 0: none */
#define ${NAME}_SINKS ${shape.sinks and 1 or 0}
#define ${NAME}_LSE ${shape.lse and 1 or 0}
#define ${NAME}_ALIBI ${shape.alibi and 1 or 0}
#define ${NAME}_ALIBI_BIAS_MAX ${float_text(shape.alibi and shape.alibi.bias_max or 0.0)}
#define ${NAME}_ALIBI_SCALE ${float_text(shape.alibi and shape.alibi.scale or 0.0)}
#define ${NAME}_RELATIVE_BUCKETS ${shape.relative_bias and shape.relative_bias.buckets or 0} /* of relative biases; 0: none */
#define ${NAME}_RELATIVE_MAX_DISTANCE ${shape.relative_bias and shape.relative_bias.max_distance or 0}
#define ${NAME}_RELATIVE_BIDIRECTIONAL ${shape.relative_bias and shape.relative_bias.bidirectional and 1 or 0}
#define ${NAME}_CLIP_QKV ${float_text(shape.clip_qkv or 0.0)} /* 0: none */
#define ${NAME}_KEY_RANGE ${shape.key_range and 1 or 0} /* calls take a range of keys */
#define ${NAME}_MASK ${shape.mask and 1 or 0} /* calls take a mask or biases */
#define ${NAME}_MASK_BIAS ${shape.mask and shape.mask.type == "bias" and 1 or 0} /* biases */
#define ${NAME}_MASK_HEADS ${shape.mask and shape.mask.heads and 1 or 0} /* biases of each head */
#define ${NAME}_CROSS ${shape.cross and 1 or 0}
#define ${NAME}_SOURCE_D_MODEL ${layout.source_width} /* of what keys and values are made of */
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
$ if shape.mla then
$   local own = shape.mla
/* Keys and values from a latent. The shape above is that of the attention on it; the heads of the
 * layer have ${mla_layer.expanded.head_dim} and ${mla_layer.expanded.v_head_dim} channels. */
#define ${NAME}_MLA 1
#define ${NAME}_MLA_KV_RANK ${own.kv_rank}
#define ${NAME}_MLA_Q_RANK ${own.q_rank or 0} /* 0: none */
#define ${NAME}_MLA_NOPE_DIM ${own.nope_dim}
#define ${NAME}_MLA_ROPE_DIM ${own.rope_dim}
#define ${NAME}_MLA_V_HEAD_DIM ${mla_layer.expanded.v_head_dim}
#define ${NAME}_MLA_EPS ${float_text(own.eps)}
#define ${NAME}_MLA_EXPAND ${mla_layer.expanded.capacity} /* positions of a prompt with keys of their heads */
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
$ if block then
$   local has = {}
$   for _, each in ipairs(layout.norms) do has[each] = 1 end
#define ${NAME}_HAS_BLOCK 1
#define ${NAME}_FFN ${block.ffn} /* width of the feed-forward; 0: none */
#define ${NAME}_ACT "${block.act or ""}"
#define ${NAME}_GATED ${block.gated and 1 or 0}
#define ${NAME}_FFN_BIAS ${block.bias and 1 or 0}
#define ${NAME}_PLACE "${block.place}" /* of the norms */
#define ${NAME}_ATTENTION_NORM ${has.attention_norm or 0} /* which norms there are */
#define ${NAME}_ATTENTION_POST_NORM ${has.attention_post_norm or 0}
#define ${NAME}_FFN_NORM ${has.ffn_norm or 0}
#define ${NAME}_FFN_POST_NORM ${has.ffn_post_norm or 0}
#define ${NAME}_NORM_LAYERNORM ${block.norm == "layernorm" and 1 or 0} /* 0: RMSNorm */
#define ${NAME}_NORM_EPS ${float_text(block.eps)}
#define ${NAME}_NORM_UNIT_OFFSET ${block.unit_offset and 1 or 0}
#define ${NAME}_NORM_BIAS ${block.norm_bias and 1 or 0}
#define ${NAME}_LAYER_SCALE ${block.layer_scale and 1 or 0}
#define ${NAME}_RESIDUAL_MULTIPLIER ${float_text(block.residual_multiplier or 1.0)}
$ end

/* Memory, in bytes. */
#define ${NAME}_ALIGN ${plan.ALIGN}
#define ${NAME}_CACHE_BYTES ${size(memory.cache_bytes)}
#define ${NAME}_WEIGHTS_BYTES ${size(memory.weights_bytes)}
$ if block then
#define ${NAME}_BLOCK_WEIGHTS_BYTES ${size(memory.block_weights_bytes)} /* the layer's come first */
$ end
#define ${NAME}_HEAD_FLOATS ${size(layout.head_floats)} /* packed keys${shape.values_in_keys and "" or " and values"} of one KV head */
$ if layout.cache.ring then
#define ${NAME}_CACHE_HEAD_FLOATS ${size(layout.cache.head_floats)} /* likewise in a cache */
$ end
#define ${NAME}_LAYER_BYTES ${size(memory.layer_bytes)}  /* parts of the scratch: rows of the ${block and "block" or "layer"}, */
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

/* Costs. FLOPs count multiplications and additions${block and ", of the whole block" or layer and ", projections included" or ""}. */
#define ${NAME}_PARAMETERS ${size(layer and memory.parameters.total or 0)}
#define ${NAME}_KV_BYTES_PER_TOKEN ${size(memory.kv_bytes_per_token)}
#define ${NAME}_FLOPS_PREFILL ${float_text(memory.flops_prefill + 0.0)} /* ${shape.capacity} positions at once */
#define ${NAME}_FLOPS_DECODE ${float_text(memory.flops_decode + 0.0)}  /* one position more, the cache full */

/* Status. Whenever it is not 0, nothing has been written. */
#define ${NAME}_OK 0
#define ${NAME}_ERROR_NULL (-1)    /* a pointer that is needed is NULL; where n is 0 they are needed
                                    * too, but for k and v of no positions */
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
