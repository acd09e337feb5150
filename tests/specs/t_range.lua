-- A range of keys given with each call, in a layer that is causal.
return {
  name = "t_range",
  d_model = 32,
  heads = 3,
  kv_heads = 1,
  head_dim = 24,
  max_seq = 1100,
  causal = true,
  key_range = true,
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
