-- Biases for all heads and nothing else that changes scores, as models give them that hide keys
-- by the least float.
return {
  name = "t_bias_alone",
  heads = 4,
  kv_heads = 2,
  head_dim = 24,
  max_seq = 1100,
  mask = "bias",
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
