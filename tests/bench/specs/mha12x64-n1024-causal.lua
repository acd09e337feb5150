-- 12 heads of 64 (BERT base, GPT-2 small).
return {
  name = "mha12x64_n1024_causal",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = true,
  isa = { "avx2", "avx512" },
}
