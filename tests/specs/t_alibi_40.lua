-- ALiBi for forty heads: the slopes of 32, and 8 of 64 (case A01).
return {
  name = "t_alibi_40",
  heads = 40,
  kv_heads = 8,
  head_dim = 7,
  max_seq = 40,
  causal = true,
  alibi = true,
  isa = { "scalar", "avx2", "avx512" },
}
