-- T5's relative biases in a layer that sees both sides, as its encoder has them, with a window.
return {
  name = "t_relative",
  d_model = 40,
  heads = 4,
  kv_heads = 2,
  head_dim = 12,
  max_seq = 1100,
  window = 300,
  window_right = 200,
  scale = 1,
  relative_bias = { buckets = 32, max_distance = 128 },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
