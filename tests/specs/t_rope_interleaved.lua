-- As t_rope_half, with neighbouring channels.
return {
  name = "t_rope_interleaved",
  d_model = 24,
  heads = 1,
  head_dim = 8,
  max_seq = 16,
  causal = true,
  rope = { theta = 10000, layout = "interleaved" },
  isa = { "scalar", "avx2", "avx512" },
}
