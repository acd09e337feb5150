-- The attention of ViT tiny.
return {
  name = "mha3x64_n197",
  heads = 3,
  head_dim = 64,
  seq = 197,
  causal = false,
  isa = { "avx2", "avx512" },
}
