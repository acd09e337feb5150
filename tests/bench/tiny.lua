-- A layer of odd sizes, for the test of the bench.
return {
  name = "tiny",
  d_model = 20,
  heads = 6,
  kv_heads = 2,
  head_dim = 10,
  v_head_dim = 7,
  max_seq = 37,
  causal = true,
  rope = { theta = 10000, layout = "half" },
  isa = { "scalar", "avx2" },
}
