-- A gated feed-forward whose inputs are more than a projection takes at a time.
return {
  name = "t_block_wide",
  d_model = 2100,
  heads = 1,
  head_dim = 8,
  max_seq = 20,
  block = {
    norm = "rmsnorm",
    place = "res_post",
    ffn = 70,
    act = "silu",
    gated = true,
    bias = true,
  },
  isa = { "scalar", "avx2", "avx512" },
}
