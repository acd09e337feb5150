-- Relative biases of one direction, few and far, on a ring, with all else that changes scores.
return {
  name = "t_relative_causal",
  heads = 6,
  kv_heads = 2,
  head_dim = 9,
  max_seq = 590,
  causal = true,
  window = 120,
  cache = "ring",
  softcap = 4,
  alibi = true,
  sinks = true,
  lse = true,
  mask = "bool",
  relative_bias = { buckets = 7, max_distance = 90 },
  isa = { "scalar", "avx2", "avx512" },
}
