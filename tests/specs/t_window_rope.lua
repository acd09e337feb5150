-- A window longer than a block of keys, and a layer with rope.
return {
  name = "t_window_rope",
  d_model = 24,
  heads = 2,
  kv_heads = 1,
  head_dim = 16,
  max_seq = 1300,
  causal = true,
  window = 515,
  rope = { theta = 10000 },
  isa = { "scalar", "avx2", "avx512" },
}
