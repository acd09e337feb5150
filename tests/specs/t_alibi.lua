-- ALiBi for heads that are no power of two (case A01).
return {
  name = "t_alibi",
  heads = 6,
  head_dim = 4,
  max_seq = 550,
  causal = true,
  alibi = true,
  isa = { "scalar", "avx2", "avx512" },
}
