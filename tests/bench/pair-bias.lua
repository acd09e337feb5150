return {
  name = "pair_bias",
  heads = 3,
  head_dim = 10,
  max_seq = 37,
  mask = { type = "bias", heads = "each" },
  isa = { "scalar", "avx2" },
}
