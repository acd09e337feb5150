-- The attention of Llama 3 8B.
return {
  name = "gqa32_8x128_n2048_causal",
  heads = 32,
  kv_heads = 8,
  head_dim = 128,
  max_seq = 2048,
  causal = true,
  isa = { "avx2", "avx512" },
}
