-- A ring cache of one block, which many positions go round; three heads a group.
return {
  name = "t_ring",
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  v_head_dim = 72,
  max_seq = 1700,
  causal = true,
  window = 70,
  cache = "ring",
  sinks = true,
  alibi = true,
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
