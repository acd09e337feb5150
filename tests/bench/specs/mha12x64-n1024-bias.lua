-- The same with biases that the heads share.
return {
  name = "mha12x64_n1024_bias",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  mask = "bias",
  isa = { "avx2", "avx512" },
}
