/* One written kernel as the suite sees it: its header's macros as numbers, its functions behind one
 * neutral signature. describe.inc fills it in for each kernel, so that no test names a spec. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>

enum status {
    OK = 0,
    ERROR_NULL = -1,
    ERROR_RANGE = -2,
    ERROR_ALIGN = -3,
    ERROR_CACHE = -4,
    ERROR_CPU = -5,
    ERROR_WEIGHTS = -6,
};

/* Field for field what each header declares as <name>_pool and <name>_weights. */
struct pool {
    void *self;
    size_t threads;
    void (*run)(void *self, void (*task)(void *argument, size_t index), void *argument,
                size_t count);
};

enum { ARRAYS = 15 };
/* What the kernel lacks is NULL. With mla: wq q_proj or q_b_proj, wk kv_a_proj_with_mqa, wv
 * kv_b_proj, wo o_proj, wq_a q_a_proj; bq and bk the biases of q_a_proj and kv_a_proj_with_mqa;
 * q_norm and k_norm the layernorms of the latents. */
struct weights {
    const float *wq, *wk, *wv, *wo, *bq, *bk, *bv, *bo, *q_norm, *k_norm, *q_norm_bias,
        *k_norm_bias;
    const float *sinks; /* [heads] */
    const float *wq_a;
    const float *relative_bias; /* [buckets][heads] */
};

/* What a block has besides: field for field what each header declares behind the `attention` of
 * <name>_block_weights. */
enum { BLOCK_ARRAYS = 16 };
struct block_weights { /* what the kernel lacks is NULL */
    const float *attention_norm, *attention_norm_bias, *attention_post_norm,
        *attention_post_norm_bias, *ffn_norm, *ffn_norm_bias, *ffn_post_norm, *ffn_post_norm_bias;
    const float *w_gate, *w_up, *w_down, *b_gate, *b_up, *b_down;
    const float *attention_scale, *ffn_scale;
};

/* What the calls of some kernels take besides, by the names of gen/arguments.lua; a layer takes
 * less, having some of it among its weights. */
struct extras {
    const float *sinks;         /* [heads] */
    const float *relative_bias; /* [buckets][heads] */
    const unsigned char *mask;  /* [n_q][mask_stride], or NULL */
    size_t mask_stride;
    const float *bias; /* [n_q][bias_stride], or so for each head, or NULL */
    size_t bias_stride, bias_head_stride;
    size_t first_key, end_key; /* the range of keys that are visible at all */
    float *lse;                /* an output, [queries][heads], or NULL */
};

/* How a kernel scales its rotary angles, by the header's macros: numbers that the type lacks are 0.
 */
struct scaling {
    const char *type;
    double factor, attention_factor, low_freq_factor, high_freq_factor, beta_fast, beta_slow;
    const double *short_factors, *long_factors; /* [rotary_dim / 2] each, of longrope */
    size_t original;
    bool truncate;
};

/* The norm of q and k, by the header's macros. */
struct qk_norm {
    bool layernorm, full, after_rope, unit_offset, bias, per_head;
    double eps;
};

/* What is known of a norm of some channels. */
struct norm {
    bool layernorm, unit_offset;
    double eps;
};

/* The block, by the header's macros. */
struct block {
    const char *act, *place;
    bool attention_norm, attention_post_norm, ffn_norm, ffn_post_norm; /* which there are */
    bool norm_bias, gated, bias, layer_scale;
    struct norm norm;
    size_t ffn, weights_bytes; /* ffn 0: no feed-forward, act is "" */
    double residual_multiplier;
};

/* Keys and values from a latent, by the header's macros. head_dim, v_head_dim and kv_heads of such
 * a kernel are those of its attention on the latent, whose values are the first channels of the
 * keys: `v` is NULL, or says that once more. */
struct mla {
    size_t kv_rank, q_rank, nope_dim, rope_dim, v_head_dim, expand; /* q_rank 0: none */
    double eps;
};

struct kernel {
    const char *name, *isas, *unfused; /* ids, separated by spaces: all, and those without fma */
    size_t d_model, heads, kv_heads, head_dim, v_head_dim, capacity, rotary_dim, rope_offset;
    bool cross;                    /* queries stand nowhere in the sequence of the keys */
    size_t source_width;           /* channels that its layer makes keys and values of */
    size_t cache_positions, chunk; /* that a cache holds, that one call may bring to it */
    size_t window, window_right;   /* 0: none */
    double scale, rope_theta, softcap, alibi_bias_max, alibi_scale; /* softcap 0: none */
    const struct scaling *scaling;                                  /* NULL: none */
    const struct qk_norm *qk_norm;                                  /* NULL: none */
    bool key_range;                                                 /* calls take one */
    bool masked, mask_bias, mask_heads;             /* takes a mask; biases; of each head */
    const struct block *block;                      /* NULL: none */
    const struct mla *mla;                          /* NULL: none */
    double clip_qkv;                                /* 0: none */
    size_t relative_buckets, relative_max_distance; /* of relative biases; 0: none */
    bool relative_bidirectional;
    bool exact, causal, sinks, lse, alibi, has_layer, qkv_bias, o_bias, weights_in_out,
        rope_interleaved;
    size_t align, cache_bytes, weights_bytes, max_threads, parameters, kv_bytes_per_token;
    size_t (*scratch_bytes)(size_t threads),
        (*cache_scratch_bytes)(size_t threads); /* 0: no pool */

    int (*attention)(const float *q, const float *k, const float *v, size_t n_q, size_t n_kv,
                     const struct extras *extras, float *out, void *scratch,
                     const struct pool *pool);
    int (*cache_reset)(void *cache);
    int (*cache_reset_long)(void *cache); /* NULL where all lengths turn alike */
    int (*cache_append)(void *cache, size_t pos, size_t n, const float *k, const float *v);
    int (*cache_attention)(const void *cache, size_t pos, size_t n, const float *q,
                           const struct extras *extras, float *out, void *scratch,
                           const struct pool *pool);
    int (*merge)(float *out, float *lse, const float *other, const float *other_lse,
                 size_t n);                                           /* NULL without lse */
    int (*pack_weights)(const struct weights *source, void *weights); /* NULL without a layer */
    /* of cross attention, whose calls have no pos and take no NULL for the cache */
    int (*source)(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                  void *scratch, const struct pool *pool);
    int (*layer)(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                 const struct extras *extras, float *y, void *scratch,
                 const struct pool *pool); /* NULL without a layer */
    int (*pack_block_weights)(const struct weights *attention, const struct block_weights *source,
                              void *weights); /* NULL without a block; no source: both NULL */
    int (*block_call)(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                      const struct extras *extras, float *y, void *scratch,
                      const struct pool *pool); /* NULL without a block */
    const char *(*isa)(void);
    int (*use_isa)(const char *isa);
};

/* The keys that a row sees: first .. end - 1, but for those that its mask hides; the row stands at
 * `position`. */
struct view {
    ptrdiff_t position;
    size_t first, end;
    const unsigned char *mask; /* of the row's keys; NULL: none */
    const float *bias;         /* likewise, head 0's */
    size_t bias_head_stride;
};

/* Whether the instruction set in use multiplies and adds in one rounding. */
bool is_fused(const struct kernel *kernel);

/* Whether scores have biases, which make weights of every size. */
bool is_biased(const struct kernel *kernel);

/* The registry, written by the makefile from its list of specs. */
extern const struct kernel *const kernels[];
extern const size_t kernel_count;
/* Every spec of the project is in it, not only those asked for. */
extern const bool kernels_are_all;
/* 1, or how many times less than usual the tests compute. */
extern const size_t work_divisor;

#endif
