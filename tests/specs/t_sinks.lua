-- Sinks, as arguments and among a layer's weights, with a window (as gpt-oss).
return {
  name = "t_sinks",
  d_model = 40,
  heads = 8,
  kv_heads = 2,
  head_dim = 16,
  max_seq = 600,
  causal = true,
  window = 33,
  sinks = true,
  rope = { theta = 10000 },
  qkv_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
