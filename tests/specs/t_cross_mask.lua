-- A layer across sequences with biases for each head that hide some keys, a range of keys and sinks.
return {
  name = "t_cross_mask",
  d_model = 32,
  heads = 4,
  kv_heads = 2,
  head_dim = 12,
  max_seq = 300,
  cross = { max_seq = 200, d_model = 40 },
  mask = { type = "bias", heads = "each" },
  key_range = true,
  sinks = true,
  isa = { "scalar", "avx2", "avx512" },
}
