-- PyTorch's TransformerEncoderLayer, with the norms before each part.
return {
  name = "t_torch_block_64_pre",
  d_model = 64,
  heads = 4,
  max_seq = 40,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "pre", ffn = 256, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
