-- A head_dim of vectors and a half; exactly one block of keys.
return {
  name = "t_dim72",
  heads = 2,
  head_dim = 72,
  max_seq = 512,
  isa = { "scalar", "avx2", "avx512" },
}
