-- A shape with a tail everywhere: nothing here is a multiple of a vector, a tile or a panel.
return {
  name = "odd",
  d_model = 50,
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  v_head_dim = 27,
  max_seq = 601,
  causal = true,
  rope = {
    theta = 10000,
    rotary_dim = 6,
    layout = "half",
    scaling = { type = "yarn", factor = 8, original_max_position_embeddings = 96 },
  },
  qk_norm = { type = "layernorm", bias = true },
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
