return {
  name = "pair_block",
  d_model = 20,
  heads = 2,
  head_dim = 10,
  max_seq = 37,
  causal = true,
  block = { norm = "layernorm", eps = 1e-5, ffn = 33, act = "silu", gated = true },
  isa = { "scalar", "avx2" },
}
