-- A scale of its own (case D02).
return {
  name = "t_scale_144",
  heads = 1,
  head_dim = 16,
  max_seq = 16,
  causal = true,
  scale = 0.08333333333333333,
  isa = { "scalar", "avx2", "avx512" },
}
