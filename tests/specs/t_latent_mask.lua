-- Masks, a range of keys and sinks in both forms of a layer with latents, on sets with and without
-- fma.
return {
  name = "t_latent_mask",
  d_model = 24,
  heads = 5,
  v_head_dim = 6,
  max_seq = 620,
  causal = true,
  mask = "bool",
  key_range = true,
  sinks = true,
  rope = { layout = "half" },
  mla = { kv_rank = 13, nope_dim = 6, rope_dim = 4, expand = 37 },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
