-- One channel a head, three heads a group.
return {
  name = "t_dim1",
  heads = 3,
  kv_heads = 1,
  head_dim = 1,
  max_seq = 33,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
