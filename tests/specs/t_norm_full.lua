-- RMSNorm over all heads together, as OLMo 2 has it; nothing turns.
return {
  name = "t_norm_full",
  d_model = 32,
  heads = 6,
  kv_heads = 2,
  head_dim = 12,
  max_seq = 35,
  causal = true,
  qk_norm = { type = "rmsnorm", width = "full", eps = 0.25 },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
