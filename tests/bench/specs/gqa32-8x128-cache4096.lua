-- The attention of Llama 3 8B, for decoding: 4 query heads share a KV head.
return {
  name = "gqa32_8x128_cache4096",
  heads = 32,
  kv_heads = 8,
  head_dim = 128,
  max_seq = 4096,
  causal = true,
  isa = { "avx2", "avx512" },
}
