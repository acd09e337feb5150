-- A ring cache of two blocks in a layer with rope, which cuts long calls itself.
return {
  name = "t_ring_layer",
  d_model = 24,
  heads = 2,
  kv_heads = 1,
  head_dim = 16,
  max_seq = 2200,
  causal = true,
  window = 515,
  cache = "ring",
  softcap = 20,
  rope = { theta = 10000 },
  isa = { "scalar", "avx2", "avx512" },
}
