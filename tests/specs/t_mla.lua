-- Very wide heads (case D02).
return {
  name = "t_mla",
  heads = 2,
  kv_heads = 1,
  head_dim = 576,
  v_head_dim = 512,
  max_seq = 16,
  causal = true,
  scale = 0.07216878364870323,
  isa = { "scalar", "avx2", "avx512" },
}
