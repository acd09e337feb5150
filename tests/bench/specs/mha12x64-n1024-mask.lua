-- The same with a mask of bytes.
return {
  name = "mha12x64_n1024_mask",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  mask = "bool",
  isa = { "avx2", "avx512" },
}
