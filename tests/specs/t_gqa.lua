-- Which KV head a head reads (case G01).
return {
  name = "t_gqa",
  heads = 6,
  kv_heads = 2,
  head_dim = 4,
  max_seq = 8,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
