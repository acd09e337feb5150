-- Biases that hide keys, a range of keys and a small window on a ring: rows whose window lies
-- past the range see nothing, in a block of which others see some.
return {
  name = "t_range_ring",
  heads = 3,
  kv_heads = 1,
  head_dim = 10,
  max_seq = 600,
  causal = true,
  window = 40,
  cache = "ring",
  mask = { type = "bias", heads = "each" },
  key_range = true,
  isa = { "scalar", "avx2", "avx512" },
}
