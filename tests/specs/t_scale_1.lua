-- No scale at all (case D02).
return {
  name = "t_scale_1",
  heads = 1,
  head_dim = 16,
  max_seq = 16,
  causal = true,
  scale = 1.0,
  isa = { "scalar", "avx2", "avx512" },
}
