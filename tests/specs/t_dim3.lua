-- Less than a vector of any instruction set, five heads a group, exactly 15 positions.
return {
  name = "t_dim3",
  heads = 5,
  kv_heads = 1,
  head_dim = 3,
  seq = 15,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
