-- Cross attention to a longer source of another width; norms, sinks, biases; with and without fma.
return {
  name = "t_cross",
  d_model = 40,
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  v_head_dim = 27,
  max_seq = 45,
  cross = { max_seq = 1040, d_model = 28 },
  qkv_bias = true,
  o_bias = true,
  sinks = true,
  lse = true,
  qk_norm = { type = "rmsnorm" },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
