-- Rows without a key (case S01).
return {
  name = "t_s01",
  heads = 2,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 8,
  isa = { "scalar", "avx2", "avx512" },
}
