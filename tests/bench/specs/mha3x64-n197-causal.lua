-- The size of ViT tiny, causal.
return {
  name = "mha3x64_n197_causal",
  heads = 3,
  head_dim = 64,
  seq = 197,
  causal = true,
  isa = { "avx2", "avx512" },
}
