-- The smallest MultiheadAttention of the PyTorch vectors.
return {
  name = "t_d8_h2",
  d_model = 8,
  heads = 2,
  max_seq = 16,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
