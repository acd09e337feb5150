-- The scale comes before the soft cap (case S03).
return {
  name = "t_s03_scale",
  heads = 1,
  head_dim = 9,
  max_seq = 16,
  scale = 0.25,
  softcap = 50.0,
  isa = { "scalar", "avx2", "avx512" },
}
