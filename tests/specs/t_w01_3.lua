-- What a window counts (case W01).
return {
  name = "t_w01_3",
  heads = 1,
  head_dim = 8,
  max_seq = 16,
  causal = true,
  window = 3,
  scale = 1.0,
  isa = { "scalar", "avx2", "avx512" },
}
