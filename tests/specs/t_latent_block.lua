-- DeepSeek's dense decoder layer, as small as can be: a latent of q too, a prompt that is longer
-- than what is expanded.
return {
  name = "t_latent_block",
  d_model = 40,
  heads = 3,
  v_head_dim = 7,
  max_seq = 700,
  causal = true,
  rope = { layout = "interleaved" },
  mla = { kv_rank = 18, q_rank = 12, nope_dim = 6, rope_dim = 4, expand = 19 },
  block = { norm = "rmsnorm", ffn = 93, act = "silu", gated = true },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
