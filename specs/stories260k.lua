-- stories260K (karpathy/tinyllamas on Hugging Face): a small trained Llama that tells stories.
-- The header of its checkpoint: dim 64, hidden_dim 172, n_heads 8, n_kv_heads 4, seq_len 512;
-- llama2.c rotates neighbouring channels at theta 10000 and has SwiGLU and an eps of 1e-5. `make
-- story` runs it, all layers as whole blocks.
return {
  name = "stories260k",
  d_model = 64,
  heads = 8,
  kv_heads = 4,
  max_seq = 512,
  causal = true,
  rope = { theta = 10000, layout = "interleaved" },
  block = { norm = "rmsnorm", eps = 1e-5, ffn = 172, act = "silu", gated = true },
  isa = { "scalar", "avx2", "avx512" },
}
