-- RMSNorm of each head of q and k before they turn, as Gemma 3 has it.
return {
  name = "t_norm_rms",
  d_model = 24,
  heads = 4,
  kv_heads = 2,
  head_dim = 20,
  max_seq = 66,
  causal = true,
  rope = {},
  qk_norm = { type = "rmsnorm", unit_offset = true },
  isa = { "scalar", "avx2", "avx512" },
}
