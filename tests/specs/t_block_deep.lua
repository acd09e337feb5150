-- Depths beyond what a projection takes at a time, in whole panels and in one that is not full.
return {
  name = "t_block_deep",
  d_model = 100,
  heads = 2,
  head_dim = 24,
  max_seq = 40,
  causal = true,
  block = { norm = "layernorm", ffn = 4100, act = "gelu", bias = true },
  isa = { "scalar", "avx2", "avx512" },
}
