-- q, k and v clamped after their norms and before they turn, as OLMoE has it; many of them are.
return {
  name = "t_clip",
  d_model = 44,
  heads = 4,
  kv_heads = 2,
  head_dim = 14,
  v_head_dim = 11,
  max_seq = 530,
  causal = true,
  clip_qkv = 0.7,
  qkv_bias = true,
  qk_norm = { type = "rmsnorm", width = "full" },
  rope = { theta = 500 },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
