-- Log-sum-exps with sinks, soft cap, ALiBi and a window to both sides; with and without fma.
return {
  name = "t_lse",
  heads = 6,
  kv_heads = 2,
  head_dim = 20,
  v_head_dim = 27,
  max_seq = 1100,
  window = 530,
  window_right = 40,
  softcap = 20,
  sinks = true,
  alibi = true,
  lse = true,
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
