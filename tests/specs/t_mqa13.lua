-- An odd number of heads on one KV head.
return {
  name = "t_mqa13",
  heads = 13,
  kv_heads = 1,
  head_dim = 8,
  max_seq = 70,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
