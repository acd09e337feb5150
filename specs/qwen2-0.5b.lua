-- Qwen2 0.5B: hidden_size 896, num_attention_heads 14, num_key_value_heads 2, rope_theta 1000000 in
-- its config.json; q, k and v have biases, o has none (the model's code, not its config.json).
-- The model goes up to 32768 positions; 2048 are written.
return {
  name = "qwen2_0_5b",
  d_model = 896,
  heads = 14,
  kv_heads = 2,
  max_seq = 2048,
  causal = true,
  rope = { theta = 1000000, layout = "half" },
  qkv_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
