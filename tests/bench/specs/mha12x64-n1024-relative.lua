-- The same with relative biases (T5's buckets).
return {
  name = "mha12x64_n1024_relative",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  relative_bias = { buckets = 32, max_distance = 128, bidirectional = true },
  isa = { "avx2", "avx512" },
}
