-- The same with a soft cap.
return {
  name = "mha12x64_n1024_softcap",
  heads = 12,
  head_dim = 64,
  max_seq = 1024,
  causal = false,
  softcap = 50,
  isa = { "avx2", "avx512" },
}
