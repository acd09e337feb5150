-- Exact, one position past a tile of keys; not causal, with rope.
return {
  name = "t_seq33",
  d_model = 16,
  heads = 2,
  seq = 33,
  rope = { theta = 10000, rotary_dim = 6, layout = "interleaved" },
  isa = { "scalar", "avx2", "avx512" },
}
