-- As t_d8_h2 with one head, of its whole width.
return {
  name = "t_d8_h1",
  d_model = 8,
  heads = 1,
  max_seq = 17,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
