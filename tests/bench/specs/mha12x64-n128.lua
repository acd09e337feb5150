-- 12 heads of 64 (BERT base, GPT-2 small), a short sequence of known length.
return {
  name = "mha12x64_n128",
  heads = 12,
  head_dim = 64,
  seq = 128,
  causal = false,
  isa = { "avx2", "avx512" },
}
