-- The attention of Gemma 2B, for decoding: all 8 query heads share one KV head.
return {
  name = "mqa8_1x256_cache4096",
  heads = 8,
  kv_heads = 1,
  head_dim = 256,
  max_seq = 4096,
  causal = true,
  isa = { "avx2", "avx512" },
}
