-- Sinks beside few keys: weights so small that they are 0.
return {
  name = "t_sinks_few",
  heads = 4,
  kv_heads = 2,
  head_dim = 18,
  max_seq = 64,
  causal = true,
  window = 2,
  sinks = true,
  isa = { "scalar", "avx2", "avx512" },
}
