-- Attention and feed-forward side by side, each on a norm of its own, as GPT-NeoX and Falcon 40B;
-- exactly so many positions.
return {
  name = "t_block_parallel_two",
  d_model = 48,
  heads = 6,
  kv_heads = 1,
  seq = 243,
  block = {
    norm = "layernorm",
    place = "parallel",
    parallel_norms = 2,
    norm_bias = false,
    ffn = 64,
    act = "quick_gelu",
  },
  isa = { "scalar", "avx2", "avx512" },
}
