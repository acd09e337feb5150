-- Latents of the latest positions only, in a ring of two blocks; ALiBi, and a range of keys, with
-- their window.
return {
  name = "t_latent_ring",
  d_model = 16,
  heads = 4,
  v_head_dim = 5,
  max_seq = 1800,
  causal = true,
  window = 300,
  cache = "ring",
  alibi = true,
  key_range = true,
  lse = true,
  rope = {},
  mla = { kv_rank = 17, nope_dim = 7, rope_dim = 4, expand = 100 },
  block = { norm = "layernorm", ffn = 24, act = "relu" },
  isa = { "scalar", "avx2", "avx512" },
}
