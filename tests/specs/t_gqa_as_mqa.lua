-- t_gqa with one KV head (case G01).
return {
  name = "t_gqa_as_mqa",
  heads = 6,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 8,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
