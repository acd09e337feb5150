-- One KV head in the PyTorch vectors.
return {
  name = "t_torch_mqa",
  heads = 8,
  kv_heads = 1,
  head_dim = 64,
  max_seq = 33,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
