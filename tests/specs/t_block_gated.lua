-- A gated feed-forward with biases, norms with weights off by 1 and biases; on sets with and
-- without fma.
return {
  name = "t_block_gated",
  d_model = 33,
  heads = 2,
  head_dim = 9,
  max_seq = 70,
  o_bias = true,
  block = {
    norm = "rmsnorm",
    eps = 1e-5,
    unit_offset = true,
    norm_bias = true,
    ffn = 65,
    act = "gelu_tanh",
    gated = true,
    bias = true,
  },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
