-- A block around a layer with latents whose norms come after: no width fits a vector, a prompt of
-- the expanded form alone.
return {
  name = "t_latent_post",
  d_model = 21,
  heads = 2,
  v_head_dim = 5,
  max_seq = 300,
  causal = true,
  rope = { layout = "half" },
  mla = { kv_rank = 11, nope_dim = 3, rope_dim = 2 },
  o_bias = true,
  weights_layout = "in_out",
  block = { norm = "layernorm", place = "post", ffn = 35, act = "gelu", bias = true,
    residual_multiplier = 0.3 },
  isa = { "scalar", "avx2", "avx512" },
}
