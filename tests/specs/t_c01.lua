-- Stale cache slots (case C01).
return {
  name = "t_c01",
  heads = 2,
  kv_heads = 1,
  head_dim = 8,
  max_seq = 70,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
