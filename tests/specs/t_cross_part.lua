-- Cross attention's part alone, without a feed-forward; norms on both sides, a multiplier.
return {
  name = "t_cross_part",
  heads = 2,
  head_dim = 16,
  v_head_dim = 12,
  d_model = 41,
  max_seq = 90,
  cross = { max_seq = 90 },
  softcap = 20.0,
  block = {
    norm = "rmsnorm",
    place = "sandwich",
    unit_offset = true,
    ffn = 0,
    residual_multiplier = 0.5,
  },
  isa = { "scalar", "avx2", "avx512" },
}
