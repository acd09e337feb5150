-- A window to both sides, of different widths, in an encoder's layer.
return {
  name = "t_window_both",
  d_model = 32,
  heads = 4,
  head_dim = 8,
  max_seq = 600,
  window = 5,
  window_right = 40,
  isa = { "scalar", "avx2", "avx512" },
}
