-- A sliding window over three blocks of keys, three heads a group.
return {
  name = "t_window",
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  max_seq = 1100,
  causal = true,
  window = 70,
  isa = { "scalar", "avx2", "avx512" },
}
