-- Groups of four in the PyTorch vectors.
return {
  name = "t_torch_gqa",
  heads = 8,
  kv_heads = 2,
  head_dim = 16,
  max_seq = 63,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
