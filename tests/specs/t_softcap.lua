-- Soft cap alone, with scores far beyond it (case S03); over a block of keys.
return {
  name = "t_softcap",
  heads = 1,
  head_dim = 9,
  max_seq = 700,
  scale = 1.0,
  softcap = 50.0,
  isa = { "scalar", "avx2", "avx512" },
}
