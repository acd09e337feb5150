-- Nine heads.
return {
  name = "t_torch_d576_causal",
  d_model = 576,
  heads = 9,
  max_seq = 32,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
