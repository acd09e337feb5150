-- A range of keys and no other limit.
return {
  name = "t_range_bare",
  heads = 2,
  head_dim = 8,
  max_seq = 40,
  key_range = true,
  isa = { "scalar", "avx2", "avx512" },
}
