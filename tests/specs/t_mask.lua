-- A mask given with each call, with causality and a window; two heads share each KV head.
return {
  name = "t_mask",
  heads = 6,
  kv_heads = 3,
  head_dim = 20,
  v_head_dim = 24,
  max_seq = 1100,
  causal = true,
  window = 600,
  mask = "bool",
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
