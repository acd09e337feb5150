return {
  name = "pair_latent",
  d_model = 20,
  heads = 2,
  v_head_dim = 6,
  max_seq = 37,
  causal = true,
  rope = { layout = "interleaved" },
  mla = { kv_rank = 16, nope_dim = 8, rope_dim = 4, expand = 20 },
  isa = { "scalar", "avx2" },
}
