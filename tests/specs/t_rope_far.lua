-- Far positions (case R05).
return {
  name = "t_rope_far",
  d_model = 8,
  heads = 1,
  max_seq = 262144,
  causal = true,
  rope = { theta = 1000000, layout = "half" },
  isa = { "scalar", "avx2", "avx512" },
}
