$ -- The functions, each with its contract.

/* The caller's threads. NULL instead of a pool: all in the calling thread. */
typedef struct ${name}_pool {
    void *self;
    size_t threads; /* 1 to ${NAME}_MAX_THREADS; scratch must be laid out for so many */
    /* Calls task(argument, i) once for each i in 0 .. count - 1 (count <= threads), in any order and
     * on any threads, and returns when all have returned. */
    void (*run)(void *self, void (*task)(void *argument, size_t index), void *argument, size_t count);
} ${name}_pool;

$ -- on: as arguments.about takes it
$ local function extras_text(list, on)
$   for _, extra in ipairs(list) do
$     local dims, about = extra.dims, arguments.about(extra, on)
$     if dims and on ~= "call" then dims = dims:gsub("n_q", "n") end
 *   ${extra.name} ${dims or ""}${dims and about and ": " or ""}${about or ""}
$   end
$ end
/* Attention of n_q queries to n_kv keys.
 *   q    [n_q][${shape.heads}][${shape.head_dim}]
$ if shape.values_in_keys then
 *   k    [n_kv][${shape.head_dim}]; its first ${shape.v_head_dim} channels are v (not used where n_kv is 0)
$ else
 *   k    [n_kv][${shape.kv_heads}][${shape.head_dim}], v [n_kv][${shape.kv_heads}][${shape.v_head_dim}] (not used where n_kv is 0)
$ end
$ extras_text(extras, "call")
 *   out  [n_q][${shape.heads}][${shape.v_head_dim}]${shape.head_dim == shape.v_head_dim and "; may be q, else overlaps no input" or "; overlaps no input"}
$ if shape.cross then
 * n_q <= ${shape.capacity}, n_kv <= ${layout.keys}. Every query sees all keys.
$ elseif shape.exact then
 * n_q and n_kv must be ${shape.capacity}.
$ else
 * n_q, n_kv <= ${shape.capacity}. Query i stands at position n_kv - n_q + i${layout.reach == 1 and " (negative: it sees no key)" or ""}.
$ end
 *   scratch  ${NAME}_SCRATCH_BYTES, or _FOR(pool->threads); its contents before and after mean nothing
 * NULL, RANGE, ALIGN, CPU. */
${NAME}_API int ${name}_attention(const float *q, const float *k, ${v_parameter}size_t n_q, size_t n_kv,
    ${extra_parameters}float *out, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;

$ local ring = layout.cache.ring
/* A KV cache: ${NAME}_CACHE_BYTES of the caller's memory, the same on every instruction set. It may be
 * copied. The first ${plan.ALIGN} bytes: a mark and the number of positions ${ring and "written, the first one held" or "held"}${rope_switches and ", whether it is a long one" or ""},
 * 64 bits each. Then for each${shape.values_in_keys and "" or " KV"}
$ if shape.values_in_keys then
 * position [c, k_pe], in tiles [${shape.head_dim}][${plan.KEY_TILE} keys]. Calls on the same cache from several threads are the
 * caller's to order.
$ else
 * head, for each block of ${plan.BLOCK} positions: keys in tiles [${shape.head_dim}][${plan.KEY_TILE} keys], then values in panels of
 * channels, [keys][width], ${panel_widths} wide. Calls on the same cache from several threads are the caller's to order.
$ end
$ if ring then
 * It is a ring of the latest ${layout.cache.positions} positions: position p lies where p mod ${layout.cache.positions} does. Whatever
 * writes a position forgets the one that lay there.
$ end
 *
 * _reset empties it. NULL, ALIGN. */
${NAME}_API int ${name}_cache_reset(void *cache) ${NAME}_CHECK;
$ if rope_switches then

/* Empties it for a sequence that will be longer than ${NAME}_ROPE_ORIGINAL positions: the layer turns its keys by
 * the long factors, from the first one on. A sequence that outgrows a cache of _cache_reset has to
 * begin anew in one of these: its keys are other ones. NULL, ALIGN. */
${NAME}_API int ${name}_cache_reset_long(void *cache) ${NAME}_CHECK;
$ end

$ local values = shape.values_in_keys and "" or (", v [n][%d][%d]"):format(shape.kv_heads, shape.v_head_dim)
/* Writes n positions from pos on: k [n][${shape.kv_heads}][${shape.head_dim}]${values}. pos is at most the number held; positions
 * after pos + n are forgotten, so going back to an earlier pos is how to undo. n = 0 changes
 * nothing, and ${shape.values_in_keys and "k" or "k and v"} may be NULL then.
$ if ring then
 * n is at most ${NAME}_CHUNK: then the n queries at pos find all that they see. So they do after
 * going back, to ${NAME}_CHUNK before the furthest position ever written; from further back the
 * keys that they see have to be written again.
 * NULL, RANGE (past the capacity, a gap, more than a chunk), ALIGN, CACHE, CPU. */
$ else
 * NULL, RANGE (past the capacity, or a gap), ALIGN, CACHE, CPU. */
$ end
${NAME}_API int ${name}_cache_append(void *cache, size_t pos, size_t n, const float *k${shape.values_in_keys and ")" or ","}
$ if shape.values_in_keys then
    ${NAME}_CHECK;
$ else
    const float *v) ${NAME}_CHECK;
$ end

$ if shape.cross then
/* Attention of n queries, at most ${shape.capacity}, to all positions of the source that the cache holds.
$ elseif shape.lse then
/* Attention of the queries at positions pos .. pos + n - 1, at most ${plan.POSITIONS - 1}, to the cache: prefill
 * (pos = 0), a chunk, or decode (n = 1). Where it does not hold their positions, because others do
 * (see _merge), they see those of its keys that stand where they look.
$ else
/* Attention of the queries at positions pos .. pos + n - 1 to the cache, which must hold them:
 * prefill (pos = 0), a chunk, or decode (n = 1).
$ end
 *   q [n][${shape.heads}][${shape.head_dim}], out [n][${shape.heads}][${shape.v_head_dim}]${shape.head_dim == shape.v_head_dim and "; out may be q" or ""}
$ extras_text(extras, "cache")
 *   scratch  ${NAME}_CACHE_SCRATCH_BYTES, or _FOR(pool->threads)
$ if not shape.causal and not shape.cross then
 * ${shape.window == 0 and shape.window_right == 0 and "Every query sees all positions held." or "A query sees what the cache holds of its window."}
$ end
$ if ring then
 * NULL, RANGE (a key that the query at pos sees is not held any more, too), ALIGN, CACHE, CPU. */
$ else
 * NULL, RANGE, ALIGN, CACHE, CPU. */
$ end
${NAME}_API int ${name}_cache_attention(const void *cache, ${pos_parameter}size_t n, const float *q, ${extra_parameters}float *out,
    void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
$ if shape.lse then

/* Results of the same n queries over different keys, one of them in out and lse, become in their place
 * those over the keys of both: so a long context can be split over threads or machines.
 *   out, other      [n][${shape.heads}][${shape.v_head_dim}], neither overlaps another array
 *   lse, other_lse  [n][${shape.heads}]
 * A part is a cache of its own. No key may be in two parts${shape.sinks and ", and the sinks be given for one part only;" or "."}
$ if shape.sinks then
 * -infinity stands for none in the others.
$ end
$ local placed = shape.window > 0 or shape.window_right > 0 or shape.alibi or shape.relative_bias
$ if shape.cross then
 * Every query asks every part.
$ elseif not shape.causal and not placed then
 * Every query asks every part, also those to its right, at any pos.
$ else
 * Positions count from the part's first key: a query at position p of the whole stands at p - first
$   if shape.causal then
 * there, be it past its end. It does not ask parts that begin after p: they show it nothing.
$   else
 * there, be it past its end. It cannot ask a part that begins after p, and has keys there: so only
 * queries that stand in the last part, or after it, can be split.
$   end
$ end
 * It does not matter to the bits which of two is merged into the other. Rows where one saw nothing keep
 * the bits of the other. Each merging adds an error of some 4 e to a weight. NULL, RANGE, CPU. */
${NAME}_API int ${name}_merge(float *out, float *lse, const float *other, const float *other_lse,
    size_t n) ${NAME}_CHECK;
$ end
$ if layer then
$   local function dims(columns, depth)
$     if shape.weights_layout == "in_out" then columns, depth = depth, columns end
$     return ("[%d][%d]"):format(columns, depth)
$   end

/* The layer's parameters as the model has them, ${shape.weights_layout == "in_out" and "y = x W + b (in_out)" or "y = W x + b (out_in, as PyTorch's Linear)"}. */
typedef struct ${name}_weights {
$   if shape.mla then
$     local own, heads, qk, v = shape.mla, shape.heads, mla_layer.expanded.head_dim, mla_layer.expanded.v_head_dim
$     if own.q_rank then
    const float *q_a_proj;      /* ${dims(own.q_rank, shape.d_model)} */
    const float *q_a_layernorm; /* [${own.q_rank}] */
    const float *q_b_proj;      /* ${dims(heads * qk, own.q_rank)} */
$     else
    const float *q_proj; /* ${dims(heads * qk, shape.d_model)} */
$     end
    const float *kv_a_proj_with_mqa; /* ${dims(own.kv_rank + own.rope_dim, shape.d_model)}: c, k_pe */
    const float *kv_a_layernorm;     /* [${own.kv_rank}] */
    const float *kv_b_proj; /* ${dims(heads * (own.nope_dim + v), own.kv_rank)}: of each head ${own.nope_dim} channels of k, ${v} of v */
    const float *o_proj;    /* ${dims(shape.d_model, heads * v)} */
$     if shape.qkv_bias and own.q_rank then
    const float *q_a_proj_bias; /* [${own.q_rank}] */
$     end
$     if shape.qkv_bias then
    const float *kv_a_proj_bias; /* [${own.kv_rank + own.rope_dim}] */
$     end
$     if shape.o_bias then
    const float *o_proj_bias; /* [${shape.d_model}] */
$     end
$   else
    const float *wq; /* ${dims(layout.q_width, shape.d_model)} */
    const float *wk; /* ${dims(layout.k_width, layout.source_width)} */
    const float *wv; /* ${dims(layout.v_width, layout.source_width)} */
    const float *wo; /* ${dims(shape.d_model, layout.o_width)} */
$   if shape.qkv_bias then
    const float *bq, *bk, *bv; /* [${layout.q_width}], [${layout.k_width}], [${layout.v_width}] */
$   end
$   if shape.o_bias then
    const float *bo; /* [${shape.d_model}] */
$   end
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
$   for _, extra in ipairs(packed) do
    ${arguments.declaration(extra)}; /* ${extra.dims} */
$   end
} ${name}_weights;

$   if shape.mla then
/* Packs the parameters, once: into ${NAME}_WEIGHTS_BYTES at `weights`, the same on every instruction set;
 * the keys' part of kv_b_proj in two orders, one for each form (${mla_layer.weights.matrices.absorb.heads * mla_layer.weights.matrices.absorb.stride * 4} bytes more).
$   else
/* Packs the parameters, once: into ${NAME}_WEIGHTS_BYTES at `weights`, the same on every instruction set.
$   end
 * The source is not needed afterwards. NULL, ALIGN. */
${NAME}_API int ${name}_pack_weights(const ${name}_weights *source, void *weights) ${NAME}_CHECK;

$   local order = not norm and (rope and "rope(%s)" or "%s") or norm.order == "after_rope" and "norm(rope(%s))" or rope and "rope(norm(%s))" or "norm(%s)"
$   if shape.cross then
/* The layer's keys and values of the source: ${order:format("Wk x")} and Wv x of n positions from pos on are
 * written to the cache, as _cache_append does. Once for a source, or as it grows.
 *   x [n][${layout.source_width}]
 *   scratch  ${NAME}_CACHE_SCRATCH_BYTES, or _FOR(threads)
 * NULL, RANGE, ALIGN, CACHE, WEIGHTS, CPU. */
${NAME}_API int ${name}_source(const void *weights, void *cache, size_t pos, size_t n, const float *x,
    void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;

/* The layer on n rows, at most ${shape.capacity}: y = Wo attention(${order:format("Wq x")}, the source), biases where the model
 * has them. The cache is only read.
 *   x, y     [n][${shape.d_model}]; y may be x, else overlaps no input
$ extras_text(layer_extras, "layer")
 *   scratch  ${NAME}_CACHE_SCRATCH_BYTES, or _FOR(threads)
 * NULL, RANGE, ALIGN, CACHE, WEIGHTS, CPU. */
${NAME}_API int ${name}_layer(const void *weights, const void *cache, size_t n, const float *x,
    ${layer_parameters}float *y, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
$   else
$     if shape.mla then
/* The attention layer, as "latent" above says.
$     else
/* The attention layer: y = Wo attention(${order:format("Wq x")}, ${order:format("Wk x")}, Wv x), biases where the model has them.
$     end
 *   x, y   [n][${shape.d_model}]; y may be x, else overlaps no input
$ extras_text(layer_extras, "layer")
 *   cache  appends the n positions at pos (see _cache_append), then attends to all that it holds;
 *          NULL: pos is 0 and the n rows attend to each other${shape.exact and (", n = %d"):format(shape.capacity) or ""}
$   if rope_switches then
 *          RANGE past ${NAME}_ROPE_ORIGINAL positions unless it was begun by _cache_reset_long
$   end
$   if ring then
 *          any n: it takes a chunk after the other, as if the cache held all positions; RANGE where a
 *          key that the row at pos sees is not held any more
$   end
 *   scratch  ${NAME}_SCRATCH_BYTES without a cache, ${NAME}_CACHE_SCRATCH_BYTES with one, or _FOR(threads)
 * NULL, RANGE, ALIGN, CACHE, WEIGHTS, CPU. */
${NAME}_API int ${name}_layer(const void *weights, void *cache, size_t pos, size_t n, const float *x,
    ${layer_parameters}float *y, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
$   end
$ end
$ if block then
$   local function dims(columns, depth)
$     if shape.weights_layout == "in_out" then columns, depth = depth, columns end
$     return ("[%d][%d]"):format(columns, depth)
$   end
$   local sense = {
$     attention_norm = "of x, before attention", attention_post_norm = block.place == "post" and "of x + attention" or "of the attention's output",
$     ffn_norm = block.place == "parallel" and "of x, before the feed-forward" or "of the sum, before the feed-forward",
$     ffn_post_norm = block.place == "post" and "of the sum with the feed-forward" or "of the feed-forward's output",
$   }

/* The block's parameters, matrices as those of the layer. */
typedef struct ${name}_block_weights {
    ${name}_weights attention;
$   for _, each in ipairs(layout.norms) do
    const float *${each}; /* [${shape.d_model}], ${sense[each]}${block.unit_offset and "; 1 is added" or ""} */
$     if block.norm_bias then
    const float *${each}_bias; /* [${shape.d_model}] */
$     end
$   end
$   for _, each in ipairs(layout.scales) do
    const float *${each}; /* [${shape.d_model}], times ${each == "attention_scale" and "the attention's" or "the feed-forward's"} output */
$   end
$   if block.gated then
    const float *w_gate; /* ${dims(block.ffn, shape.d_model)} */
$   end
$   if block.ffn > 0 then
    const float *w_up;   /* ${dims(block.ffn, shape.d_model)} */
    const float *w_down; /* ${dims(shape.d_model, block.ffn)} */
$   end
$   if block.bias then
    const float *${block.gated and "b_gate, *b_up" or "b_up"}, *b_down; /* ${block.gated and ("[%d], "):format(block.ffn) or ""}[${block.ffn}], [${shape.d_model}] */
$   end
} ${name}_block_weights;

/* Packs them, once: into ${NAME}_BLOCK_WEIGHTS_BYTES at `weights`, the same on every instruction set.
$   if shape.cross then
 * They begin with the attention layer's: _source and _layer take them too. NULL, ALIGN. */
$   else
 * They begin with the attention layer's: _layer takes them too. NULL, ALIGN. */
$   end
${NAME}_API int ${name}_pack_block_weights(const ${name}_block_weights *source, void *weights) ${NAME}_CHECK;

/* The ${block.ffn > 0 and "whole block" or "attention part of the block"}, as above, with `weights` of _pack_block_weights; all else as in _layer. NULL, RANGE,
 * ALIGN, CACHE, WEIGHTS, CPU. */
${NAME}_API int ${name}_block(const void *weights, ${cache_parameter}, ${pos_parameter}size_t n, const float *x,
    ${layer_parameters}float *y, void *scratch, const ${name}_pool *pool) ${NAME}_CHECK;
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
