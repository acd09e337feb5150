-- The attention of Llama 3 8B.
return {
  name = "gqa32_8x128_n2048",
  heads = 32,
  kv_heads = 8,
  head_dim = 128,
  max_seq = 2048,
  causal = false,
  isa = { "avx2", "avx512" },
}
