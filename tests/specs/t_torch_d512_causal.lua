-- As t_torch_d512, causal; the MHA of t_torch_mqa.
return {
  name = "t_torch_d512_causal",
  d_model = 512,
  heads = 8,
  max_seq = 33,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
