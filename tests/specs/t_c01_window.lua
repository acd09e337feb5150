-- Keys that have left the window (case C01).
return {
  name = "t_c01_window",
  heads = 2,
  kv_heads = 1,
  head_dim = 8,
  max_seq = 70,
  causal = true,
  window = 4,
  isa = { "scalar", "avx2", "avx512" },
}
