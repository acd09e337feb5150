-- Phi-2: hidden_size 2560, num_attention_heads 32 (head_dim 80), rope_theta 10000,
-- partial_rotary_factor 0.4 (32 of the 80 channels rotate), max_position_embeddings 2048 in its
-- config.json; all four projections have biases.
return {
  name = "phi_2",
  d_model = 2560,
  heads = 32,
  max_seq = 2048,
  causal = true,
  rope = { theta = 10000, rotary_dim = 32, layout = "half" },
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
