-- Attention and feed-forward side by side on one norm of x, as GPT-J; squared ReLU, a multiplier.
return {
  name = "t_block_parallel",
  d_model = 67,
  heads = 3,
  head_dim = 16,
  max_seq = 300,
  causal = true,
  rope = { rotary_dim = 8, layout = "interleaved" },
  block = {
    norm = "layernorm",
    place = "parallel",
    ffn = 130,
    act = "relu2",
    bias = true,
    residual_multiplier = 0.22,
  },
  isa = { "scalar", "avx2", "avx512" },
}
