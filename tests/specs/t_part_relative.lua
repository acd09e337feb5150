-- Attention's part of T5's decoder, but for the norm of its output; exactly so many positions, a
-- layer scale.
return {
  name = "t_part_relative",
  d_model = 33,
  heads = 4,
  head_dim = 8,
  seq = 50,
  causal = true,
  scale = 1.0,
  relative_bias = {},
  block = { norm = "rmsnorm", place = "res_post", norm_bias = true, ffn = 0, layer_scale = true },
  isa = { "scalar", "avx2", "avx512" },
}
