-- Cross attention with its feed-forward, norms before both; t_part_pre comes before it.
return {
  name = "t_cross_pre",
  d_model = 20,
  heads = 2,
  max_seq = 300,
  cross = { max_seq = 70 },
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", ffn = 70, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
