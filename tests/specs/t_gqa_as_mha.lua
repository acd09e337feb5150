-- t_gqa with a KV head for each head.
return {
  name = "t_gqa_as_mha",
  heads = 6,
  head_dim = 4,
  max_seq = 8,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
