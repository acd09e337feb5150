-- A ring cache with a window to both sides: keys must be there before the rows that see them.
return {
  name = "t_ring_both",
  d_model = 20,
  heads = 4,
  kv_heads = 4,
  head_dim = 6,
  max_seq = 1300,
  window = 5,
  window_right = 40,
  cache = "ring",
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
