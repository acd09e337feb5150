-- Log-sum-exps in causal attention with a layer and a ring cache.
return {
  name = "t_lse_layer",
  d_model = 24,
  heads = 3,
  kv_heads = 1,
  head_dim = 16,
  max_seq = 1300,
  causal = true,
  window = 70,
  cache = "ring",
  lse = true,
  isa = { "scalar", "avx2", "avx512" },
}
