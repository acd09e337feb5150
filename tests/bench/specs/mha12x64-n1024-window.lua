-- The same with a window.
return {
  name = "mha12x64_n1024_window",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  window = 256,
  window_right = 256,
  isa = { "avx2", "avx512" },
}
