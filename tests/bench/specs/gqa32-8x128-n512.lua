-- The attention of Llama 3 8B, a sequence of known length.
return {
  name = "gqa32_8x128_n512",
  heads = 32,
  kv_heads = 8,
  head_dim = 128,
  seq = 512,
  causal = false,
  isa = { "avx2", "avx512" },
}
