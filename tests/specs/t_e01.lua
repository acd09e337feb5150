-- Determinism (case E01).
return {
  name = "t_e01",
  heads = 4,
  kv_heads = 2,
  head_dim = 20,
  max_seq = 256,
  causal = true,
  isa = { "scalar", "avx2", "avx512" },
}
