-- Latents of q too, dimensions that fit no vector, weights by input, a scaling with its factor in
-- the scores, as DeepSeek-V3 has it.
return {
  name = "t_latent_q",
  d_model = 37,
  heads = 3,
  v_head_dim = 9,
  max_seq = 600,
  causal = true,
  scale = 0.45,
  rope = { layout = "half", theta = 10000, scaling = { type = "yarn", factor = 40,
    original_max_position_embeddings = 100, mscale = 1, mscale_all_dim = 1 } },
  mla = { kv_rank = 21, q_rank = 19, nope_dim = 5, rope_dim = 6, eps = 1e-5 },
  weights_layout = "in_out",
  qkv_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
