-- A single position.
return {
  name = "t_seq1",
  d_model = 5,
  heads = 1,
  head_dim = 8,
  seq = 1,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
