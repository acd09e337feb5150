-- Eight heads a group, three blocks of keys.
return {
  name = "t_max1025",
  d_model = 32,
  heads = 8,
  kv_heads = 1,
  head_dim = 8,
  max_seq = 1025,
  causal = true,
  rope = { theta = 10000, rotary_dim = 2, layout = "half" },
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
