-- The attention of Llama 3.2 1B, for decoding: 4 query heads share a KV head.
return {
  name = "gqa32_8x64_cache8192",
  heads = 32,
  kv_heads = 8,
  head_dim = 64,
  max_seq = 8192,
  causal = true,
  isa = { "avx2", "avx512" },
}
