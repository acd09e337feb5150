-- Biases of each head and of each bucket of distances, capped scores and log-sum-exps with
-- latents, in a block.
return {
  name = "t_latent_bias",
  d_model = 20,
  heads = 3,
  v_head_dim = 9,
  max_seq = 560,
  causal = true,
  softcap = 3,
  lse = true,
  mask = { type = "bias", heads = "each" },
  relative_bias = { buckets = 9, max_distance = 40 },
  rope = { layout = "interleaved" },
  mla = { kv_rank = 36, q_rank = 10, nope_dim = 5, rope_dim = 2, expand = 25 },
  block = { norm = "rmsnorm", place = "sandwich", ffn = 30, act = "gelu_tanh", gated = true },
  isa = { "scalar", "avx2", "avx512" },
}
