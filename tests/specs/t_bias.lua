-- Biases given for each head, with all that changes scores besides, in a layer.
return {
  name = "t_bias",
  d_model = 48,
  heads = 4,
  kv_heads = 2,
  head_dim = 16,
  max_seq = 560,
  mask = { type = "bias", heads = "each" },
  softcap = 8,
  alibi = true,
  sinks = true,
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
