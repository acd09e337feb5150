-- Keys and values from a latent, as small as can be: two tiles of keys per head, a prompt that is
-- longer than what is expanded, biases.
return {
  name = "t_latent",
  d_model = 48,
  heads = 4,
  v_head_dim = 6,
  max_seq = 1100,
  causal = true,
  rope = { layout = "interleaved" },
  mla = { kv_rank = 16, nope_dim = 8, rope_dim = 4, expand = 40 },
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
