-- Values narrower than keys (case D02).
return {
  name = "t_vdim_small",
  heads = 2,
  kv_heads = 1,
  head_dim = 12,
  v_head_dim = 8,
  max_seq = 16,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
