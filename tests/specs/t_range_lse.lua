-- A range of keys with a window and log-sum-exps: parts of a long sequence, to be merged.
return {
  name = "t_range_lse",
  heads = 2,
  kv_heads = 1,
  head_dim = 12,
  max_seq = 1300,
  window = 600,
  key_range = true,
  lse = true,
  isa = { "scalar", "avx2", "avx512" },
}
