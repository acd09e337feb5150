-- Cross attention and feed-forward of a decoder's layer, norms after the residuals: t_part_post
-- comes before it.
return {
  name = "t_cross_post",
  d_model = 24,
  heads = 3,
  max_seq = 40,
  cross = { max_seq = 600 },
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", place = "post", ffn = 50, act = "relu", bias = true },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
