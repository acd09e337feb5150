-- The rotary scaling of Llama 3.1 and later; the vectors R03 have this shape.
return {
  name = "t_rope_llama3",
  d_model = 8,
  heads = 2,
  kv_heads = 1,
  head_dim = 64,
  max_seq = 5001,
  causal = true,
  rope = {
    theta = 500000,
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
