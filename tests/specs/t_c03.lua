-- Past the capacity (case C03).
return {
  name = "t_c03",
  heads = 2,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 8,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
