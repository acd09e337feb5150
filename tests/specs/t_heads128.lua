-- As many heads as models have, all on one KV head: the rows of one position are a block of them.
return {
  name = "t_heads128",
  heads = 128,
  kv_heads = 1,
  head_dim = 5,
  v_head_dim = 3,
  max_seq = 70,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
