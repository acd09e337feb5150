-- Exact, one position past two blocks of keys; not causal.
return {
  name = "t_seq1025",
  heads = 2,
  head_dim = 8,
  seq = 1025,
  isa = { "scalar", "avx2", "avx512" },
}
