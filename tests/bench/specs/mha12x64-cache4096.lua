-- 12 heads of 64, for decoding: one query head for each KV head.
return {
  name = "mha12x64_cache4096",
  heads = 12,
  head_dim = 64,
  max_seq = 4096,
  causal = true,
  isa = { "avx2", "avx512" },
}
