-- Dynamic NTK, which goes by the longest sequence; exactly so many positions.
return {
  name = "t_rope_dynamic",
  d_model = 16,
  heads = 2,
  head_dim = 12,
  seq = 33,
  causal = true,
  rope = {
    rotary_dim = 8,
    scaling = { type = "dynamic", factor = 2, original_max_position_embeddings = 16 },
  },
  isa = { "scalar", "avx2", "avx512" },
}
