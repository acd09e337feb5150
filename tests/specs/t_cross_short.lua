-- Cross attention of many queries to a short source, and no projections.
return {
  name = "t_cross_short",
  heads = 3,
  head_dim = 16,
  max_seq = 700,
  cross = { max_seq = 33 },
  isa = { "scalar", "avx2", "avx512" },
}
