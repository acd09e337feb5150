-- Gemma 2B: hidden_size 2048, num_attention_heads 8, num_key_value_heads 1, head_dim 256,
-- rope_theta 10000 in its config.json. The model goes up to 8192 positions; 2048 are written.
return {
  name = "gemma_2b",
  d_model = 2048,
  heads = 8,
  kv_heads = 1,
  head_dim = 256,
  max_seq = 2048,
  causal = true,
  rope = { theta = 10000, layout = "half" },
  isa = { "scalar", "avx2", "avx512" },
}
