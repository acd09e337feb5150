$ -- What the dispatcher and every instruction set's file share; each of them carries its own copy,
$ -- so that no internal header has to be vendored.
#ifndef ${NAME}_INTERNAL
#define ${NAME}_INTERNAL

/* The results are defined to the bit, so the compiler may not rearrange them. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||         \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ + 0)
#error "${name} is defined to the bit: compile it without -ffast-math and the flags it stands for"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "${name} needs float arithmetic in float: compile it with -msse2 -mfpmath=sse (x86) or -fexcess-precision=fast (s390x)"
#endif

#include <float.h>
#include <stdint.h>
#include <string.h>

/* One call of attention, as all its tasks see it. */
typedef struct ${name}_call {
    const float *q; /* [n][heads][head_dim] */
    float *out;     /* [n][heads][v_head_dim] */
    const float *kv; /* packed keys and values of KV head 0 */
$ if layout.cache.ring then
    int ring; /* they lie in a ring of ${layout.cache.ring} blocks */
$ end
    size_t kv_stride; /* floats from one KV head's to the next one's */
    size_t n;         /* query positions */
    size_t n_kv;      /* keys held */
    ptrdiff_t pos;    /* position of query 0 */
$ for _, extra in ipairs(extras) do
    ${arguments.declaration(extra)};${extra.dims and (" /* %s */"):format(extra.dims) or ""}
$ end
} ${name}_call;

/* What an instruction set provides. A row is one query head at one position; the rows of one KV
 * head are its query heads at position 0, then at position 1, and so on. */
typedef struct ${name}_kernels {
    const char *isa;
    size_t query_rows; /* rows that attend() takes at once, at most */
$ if shape.values_in_keys then
    /* Packs the keys, and so the values, of n positions from pos on${layout.cache.ring and "; ring: into a ring cache" or ""}. */
    void (*pack)(const float *k, size_t pos, size_t n, ${layout.cache.ring and "int ring, " or ""}float *kv);
$ elseif layout.cache.ring then
    /* Packs the keys and values of one KV head for n positions from pos on; ring: into a ring cache. */
    void (*pack)(const float *k, const float *v, size_t pos, size_t n, int ring, float *kv);
$ else
    /* Packs the keys and values of one KV head for n positions from pos on. */
    void (*pack)(const float *k, const float *v, size_t pos, size_t n, float *kv);
$ end
    /* Rows first_row .. first_row + rows - 1 of one KV head. */
    void (*attend)(const ${name}_call *call, size_t kv_head, size_t first_row, size_t rows,
                   float *scratch);
$ if shape.lse then
    /* Results [rows][v_head_dim] and their log-sum-exps over different keys, made one in the former. */
    void (*merge)(float *out, float *lse, const float *other, const float *other_lse, size_t rows);
$ end
$ if shape.mla then
    /* The same of the expanded heads. */
    size_t expanded_query_rows;
    void (*expanded_pack)(const float *k, const float *v, size_t pos, size_t n, float *kv);
    void (*expanded_attend)(const ${name}_call *call, size_t kv_head, size_t first_row, size_t rows,
                            float *scratch);
    /* n rows of y = x times panels first .. first + count - 1 of packed weights, of `columns` columns. */
$   for _, product in ipairs(mla_products) do
    void (*project_${product.name})(const float *x, size_t n, const float *w, size_t columns, size_t first,
        ${(" "):rep(#product.name)}size_t count, float *y); /* x ${product.x}, y ${product.y} */
$   end
    /* Norms of latents in place: of q [n][${shape.mla.q_rank or 0}], of keys and values in rows of ${shape.head_dim}. */
$   if shape.mla.q_rank then
    void (*norm_q)(float *x, size_t n, const float *w);
$   end
    void (*norm_kv)(float *x, size_t n, const float *w);
$ elseif shape.emit ~= "attention" then
    /* y [n][columns] = x [n][depth] times panels first .. first + count - 1 of packed weights. */
    void (*project_in)(const float *x, size_t n, const float *w, size_t columns, size_t first,
                       size_t count, float *y);
    void (*project_out)(const float *x, size_t n, const float *w, size_t columns, size_t first,
                        size_t count, float *y);
$   if shape.cross then
    void (*project_source)(const float *x, size_t n, const float *w, size_t columns, size_t first,
                           size_t count, float *y);
$   end
$ end
$ if shape.clip_qkv then
    void (*clip)(float *x, size_t count); /* clamps x to the limits of q, k and v */
$ end
$ if shape.qk_norm then
    /* Norms of x [n][heads or KV heads][head_dim] in place, by packed parameters. */
    void (*norm_q)(float *x, size_t n, const float *w);
    void (*norm_k)(float *x, size_t n, const float *w);
$ end
$ if shape.mla then
    /* Turns the leading ${shape.rope.rotary_dim} channels of x [n][heads][stride] in place; row 0 stands at position pos${rope_switches and "; is_long: as a long sequence" or ""}. */
    void (*rotate)(float *x, size_t n, size_t heads, size_t stride, size_t pos${rope_switches and ", int is_long" or ""});
$ elseif shape.rope then
$   if rope_switches then
    /* Turns x [n][heads][head_dim] in place; row 0 stands at position pos; is_long: as a long sequence. */
    void (*rotate)(float *x, size_t n, size_t heads, size_t pos, int is_long);
$   else
    /* Turns x [n][heads][head_dim] in place; row 0 stands at position pos. */
    void (*rotate)(float *x, size_t n, size_t heads, size_t pos);
$   end
$ end
$ if shape.block then
$   local m = shape.block.layer_scale and "s " or shape.block.residual_multiplier and float(shape.block.residual_multiplier) .. " * " or ""
$   if shape.block.ffn > 0 then
    /* The feed-forward: u [n][${shape.block.ffn}] of x by panels of `up`${shape.block.gated and " and gate (room: [n][" .. plan.PANEL .. "])" or ""}, activated; y of u, by panels of `down`. */
    void (*project_up)(const float *x, size_t n, const float *w, size_t columns, size_t first,
                       size_t count, float *u${shape.block.gated and ", float *room" or ""});
    void (*project_down)(const float *u, size_t n, const float *w, size_t columns, size_t first,
                         size_t count, float *y);
$   end
    /* Rows of d_model channels: y = norm(x) by packed parameters, y = x + ${m}a; y may be x. */
    void (*norm)(const float *x, const float *w, float *y);
    void (*add)(const float *x, const float *a, ${shape.block.layer_scale and "const float *s, " or ""}float *y);
$ end
} ${name}_kernels;

#ifdef __cplusplus
extern "C" {
#endif
$ for _, set in ipairs(isas) do
extern const ${name}_kernels ${name}_${set.symbol}_kernels;
$ end
#ifdef __cplusplus
}
#endif
#endif
