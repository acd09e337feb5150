-- LongRoPE: short and long sequences turn differently, and a cache is begun for one of them.
return {
  name = "t_rope_longrope",
  d_model = 32,
  heads = 4,
  kv_heads = 2,
  head_dim = 8,
  max_seq = 65,
  causal = true,
  rope = {
    scaling = {
      type = "longrope",
      short_factor = { 1, 1.25, 1.5, 1.75 },
      long_factor = { 1.1, 2.5, 9.75, 33.5 },
      original_max_position_embeddings = 17,
      factor = 4,
    },
  },
  isa = { "scalar", "avx2", "avx512" },
}
