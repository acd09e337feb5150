-- Attention alone: q, k and v are given, there is no layer. Every query sees every key.
return {
  name = "bare",
  heads = 4,
  kv_heads = 2,
  head_dim = 40,
  max_seq = 600,
  isa = { "scalar", "avx2", "avx512" },
}
