-- The same with sinks.
return {
  name = "mha12x64_n1024_sinks",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  sinks = true,
  isa = { "avx2", "avx512" },
}
