-- t_gqa with one head.
return {
  name = "t_gqa_one",
  heads = 1,
  head_dim = 4,
  max_seq = 8,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
