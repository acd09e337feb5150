-- Norms before and after each part, as Gemma 2: with a window in a ring cache, a
-- soft cap and rope.
return {
  name = "t_block_sandwich",
  d_model = 72,
  heads = 4,
  kv_heads = 2,
  head_dim = 24,
  max_seq = 1030,
  cache = "ring",
  causal = true,
  window = 70,
  scale = 0.25,
  softcap = 30.0,
  rope = {},
  block = {
    norm = "rmsnorm",
    place = "sandwich",
    unit_offset = true,
    ffn = 150,
    act = "gelu_tanh",
    gated = true,
  },
  isa = { "scalar", "avx2", "avx512" },
}
