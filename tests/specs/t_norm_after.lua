-- LayerNorm after q and k turned, of fewer channels than a vector has.
return {
  name = "t_norm_after",
  d_model = 12,
  heads = 2,
  head_dim = 4,
  seq = 19,
  rope = { layout = "interleaved" },
  qk_norm = { type = "layernorm", order = "after_rope", unit_offset = true },
  isa = { "scalar", "avx2", "avx512" },
}
