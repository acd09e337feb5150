-- Llama 3.2 1B: hidden_size 2048, num_attention_heads 32, num_key_value_heads 8, head_dim 64,
-- rope_theta 500000 and rope_scaling in its config.json. The model goes up to 131072 positions;
-- 2048 are written.
return {
  name = "llama_3_2_1b",
  d_model = 2048,
  heads = 32,
  kv_heads = 8,
  head_dim = 64,
  max_seq = 2048,
  causal = true,
  rope = {
    theta = 500000,
    layout = "half",
    scaling = {
      type = "llama3",
      factor = 32,
      low_freq_factor = 1,
      high_freq_factor = 4,
      original_max_position_embeddings = 8192,
    },
  },
  isa = { "scalar", "avx2", "avx512" },
}
