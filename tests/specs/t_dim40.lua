-- Groups of two; a width that is not heads * head_dim; one position past a block of keys.
return {
  name = "t_dim40",
  d_model = 24,
  heads = 4,
  kv_heads = 2,
  head_dim = 40,
  max_seq = 513,
  causal = true,
  rope = { theta = 10000, layout = "interleaved" },
  weights_layout = "in_out",
  isa = { "scalar", "avx2", "avx512" },
}
