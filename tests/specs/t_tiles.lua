-- Every tile size given by hand.
return {
  name = "t_tiles",
  d_model = 48,
  heads = 6,
  kv_heads = 2,
  max_seq = 600,
  causal = true,
  tile = { query_rows = 5, score_keys = 96, value_keys = 33,
    score_rows = 3, score_vectors = 1, value_vectors = 1, project_rows = 2 },
  unroll = 4,
  isa = { "scalar", "avx2", "avx512" },
}
