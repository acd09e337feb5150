-- Soft cap, ALiBi and sinks together, two windows.
return {
  name = "t_scores_all",
  heads = 5,
  kv_heads = 1,
  head_dim = 24,
  v_head_dim = 40,
  max_seq = 540,
  window = 100,
  window_right = 7,
  softcap = 3.0,
  alibi = true,
  sinks = true,
  isa = { "scalar", "avx2", "avx512" },
}
