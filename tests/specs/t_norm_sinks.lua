-- A norm and sinks in one layer, whose keys can be looked at.
return {
  name = "t_norm_sinks",
  d_model = 24,
  heads = 3,
  head_dim = 17,
  max_seq = 70,
  window = 9,
  window_right = 4,
  sinks = true,
  qk_norm = { type = "layernorm", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
