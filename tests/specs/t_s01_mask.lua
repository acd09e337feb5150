-- A mask that hides all keys of a row (case S01).
return {
  name = "t_s01_mask",
  heads = 2,
  kv_heads = 1,
  head_dim = 4,
  max_seq = 8,
  mask = "bool",
  isa = { "scalar", "avx2", "avx512" },
}
