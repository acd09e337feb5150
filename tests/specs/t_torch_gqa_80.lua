-- Groups of two, not causal, in the PyTorch vectors.
return {
  name = "t_torch_gqa_80",
  heads = 6,
  kv_heads = 3,
  head_dim = 80,
  max_seq = 65,
  isa = { "scalar", "avx2", "avx512" },
}
