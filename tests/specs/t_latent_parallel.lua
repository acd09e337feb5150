-- Attention with latents and a feed-forward side by side, each with a norm of its own; exactly so
-- many positions, of which some are expanded, and a feed-forward that is wider for them than all
-- whose place it takes.
return {
  name = "t_latent_parallel",
  d_model = 32,
  heads = 2,
  v_head_dim = 16,
  seq = 150,
  causal = true,
  rope = { layout = "half" },
  mla = { kv_rank = 20, nope_dim = 8, rope_dim = 8, expand = 33 },
  qkv_bias = true,
  block = { norm = "rmsnorm", place = "parallel", parallel_norms = 2, ffn = 300, act = "relu2" },
  isa = { "scalar", "avx2", "avx512" },
}
