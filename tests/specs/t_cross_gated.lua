-- A cross attention layer as mllama's: gates as layer scales, norms of q and k, a mask, a gated
-- feed-forward; a source of its own width, padded.
return {
  name = "t_cross_gated",
  d_model = 36,
  heads = 4,
  kv_heads = 2,
  head_dim = 10,
  max_seq = 250,
  cross = { max_seq = 530, d_model = 28 },
  mask = "bool",
  key_range = true,
  weights_layout = "in_out",
  qk_norm = { type = "rmsnorm", order = "no_rope" },
  block = { norm = "rmsnorm", ffn = 130, act = "silu", gated = true, layer_scale = true },
  isa = { "scalar", "avx2", "avx512" },
}
