-- Log-sum-exps where every query sees every key.
return {
  name = "t_lse_full",
  heads = 1,
  head_dim = 8,
  max_seq = 600,
  lse = true,
  isa = { "scalar", "avx2", "avx512" },
}
