-- PyTorch's TransformerEncoderLayer, with the norms after each addition.
return {
  name = "t_torch_block_8",
  d_model = 8,
  heads = 2,
  max_seq = 40,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "post", ffn = 32, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
