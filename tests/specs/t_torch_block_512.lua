-- PyTorch's TransformerEncoderLayer, with the norms after each addition.
return {
  name = "t_torch_block_512",
  d_model = 512,
  heads = 8,
  max_seq = 16,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "post", ffn = 2048, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
