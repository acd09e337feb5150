-- Latent attention in the shape of DeepSeek-V2-Lite.
return {
  name = "latent_deepseek_v2_lite",
  d_model = 2048,
  heads = 16,
  v_head_dim = 128,
  max_seq = 2048,
  causal = true,
  mla = { kv_rank = 512, nope_dim = 128, rope_dim = 64 },
  rope = { theta = 10000, layout = "interleaved" },
  isa = { "avx2", "avx512" },
}
