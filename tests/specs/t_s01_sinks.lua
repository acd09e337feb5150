-- Rows that see a sink and no key (case S01).
return {
  name = "t_s01_sinks",
  heads = 2,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 8,
  sinks = true,
  isa = { "scalar", "avx2", "avx512" },
}
