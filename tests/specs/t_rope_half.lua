-- Layer that passes q, k and v of one head through (case R01).
return {
  name = "t_rope_half",
  d_model = 24,
  heads = 1,
  head_dim = 8,
  max_seq = 16,
  causal = true,
  rope = { theta = 10000, layout = "half" },
  isa = { "scalar", "avx2", "avx512" },
}
