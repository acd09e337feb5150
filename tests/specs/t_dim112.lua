-- Seven heads a group, part of the channels rotate, exactly 16 positions.
return {
  name = "t_dim112",
  d_model = 32,
  heads = 7,
  kv_heads = 1,
  head_dim = 112,
  seq = 16,
  causal = true,
  rope = { theta = 500, rotary_dim = 64, layout = "half" },
  qkv_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
