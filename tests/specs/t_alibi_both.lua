-- ALiBi in both directions with other slopes, twelve heads in groups.
return {
  name = "t_alibi_both",
  heads = 12,
  kv_heads = 4,
  head_dim = 8,
  max_seq = 90,
  alibi = { bias_max = 16, scale = 0.25 },
  isa = { "scalar", "avx2", "avx512" },
}
