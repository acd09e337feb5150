-- Exact, one position less than a block of keys.
return {
  name = "t_seq511",
  heads = 1,
  head_dim = 16,
  seq = 511,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
