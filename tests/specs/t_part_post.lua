-- Attention's part of a decoder's layer, its norm after the residual, as BART's and PyTorch's
-- TransformerDecoderLayer; t_cross_post is the rest of that layer.
return {
  name = "t_part_post",
  d_model = 24,
  heads = 3,
  max_seq = 40,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "post", ffn = 0 },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
