-- As t_d8_h2, causal.
return {
  name = "t_d8_h2_causal",
  d_model = 8,
  heads = 2,
  max_seq = 15,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
