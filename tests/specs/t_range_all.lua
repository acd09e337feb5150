-- A range of keys with windows to both sides, biases, sinks and log-sum-exps.
return {
  name = "t_range_all",
  heads = 4,
  kv_heads = 2,
  head_dim = 16,
  max_seq = 700,
  window = 200,
  window_right = 80,
  key_range = true,
  mask = "bias",
  sinks = true,
  lse = true,
  isa = { "scalar", "avx2", "avx512" },
}
