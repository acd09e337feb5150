-- Norms, switching angles, a window, soft cap and sinks in one layer; on sets with and without fma.
return {
  name = "t_all",
  d_model = 40,
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  v_head_dim = 72,
  max_seq = 540,
  causal = true,
  window = 70,
  softcap = 5.0,
  sinks = true,
  alibi = { scale = 0.25 },
  qkv_bias = true,
  o_bias = true,
  rope = {
    rotary_dim = 8,
    scaling = {
      type = "longrope",
      short_factor = { 1, 1.25, 1.5, 1.75 },
      long_factor = { 1.1, 2.5, 9.75, 33.5 },
      original_max_position_embeddings = 130,
      factor = 4,
    },
  },
  qk_norm = { type = "rmsnorm", width = "full", unit_offset = true },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
