-- The leading pairs of a whole head turn, by the angles of a whole head; positions start at 100.
return {
  name = "t_rope_proportional",
  d_model = 16,
  heads = 2,
  kv_heads = 1,
  head_dim = 48,
  max_seq = 35,
  causal = true,
  rope = {
    theta = 1e6,
    rotary_dim = 32,
    offset = 100,
    scaling = { type = "proportional", factor = 8 },
  },
  isa = { "scalar", "avx2", "avx512" },
}
