-- The same with biases of each head.
return {
  name = "mha12x64_n1024_bias_heads",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  mask = { type = "bias", heads = "each" },
  isa = { "avx2", "avx512" },
}
