-- Keys to come within a window, all that went before.
return {
  name = "t_window_right",
  heads = 3,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 70,
  window_right = 3,
  isa = { "scalar", "avx2", "avx512" },
}
