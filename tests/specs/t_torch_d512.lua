-- MultiheadAttention of the PyTorch vectors.
return {
  name = "t_torch_d512",
  d_model = 512,
  heads = 8,
  max_seq = 31,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
