-- A block of Llama 3.2 1B with its SwiGLU; a short sequence, since the weights are what counts.
return {
  name = "block_llama_3_2_1b",
  d_model = 2048,
  heads = 32,
  kv_heads = 8,
  head_dim = 64,
  max_seq = 1024,
  causal = true,
  rope = { theta = 500000, layout = "half" },
  block = { norm = "rmsnorm", eps = 1e-5, ffn = 8192, act = "silu", gated = true },
  isa = { "avx2", "avx512" },
}
