-- PyTorch's TransformerEncoderLayer, with the norms after each addition.
return {
  name = "t_torch_block_64",
  d_model = 64,
  heads = 4,
  max_seq = 40,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "post", ffn = 256, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
