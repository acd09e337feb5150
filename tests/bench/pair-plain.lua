-- With pair-bias.lua, for the test of the bench: the same attention with a feature and without.
return {
  name = "pair_plain",
  heads = 3,
  head_dim = 10,
  max_seq = 37,
  isa = { "scalar", "avx2" },
}
