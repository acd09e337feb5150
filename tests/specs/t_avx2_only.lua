-- One instruction set alone.
return {
  name = "t_avx2_only",
  d_model = 8,
  heads = 2,
  max_seq = 32,
  causal = true,
  isa = "avx2",
}
