-- An exact causal layer, one position past a vector.
return {
  name = "t_seq17",
  d_model = 12,
  heads = 3,
  head_dim = 4,
  seq = 17,
  causal = true,
  weights_layout = "in_out",
  isa = { "scalar", "avx2", "avx512" },
}
