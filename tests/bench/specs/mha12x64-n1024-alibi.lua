-- The same with ALiBi.
return {
  name = "mha12x64_n1024_alibi",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  alibi = true,
  isa = { "avx2", "avx512" },
}
