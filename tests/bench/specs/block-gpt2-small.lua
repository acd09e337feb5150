-- A block of GPT-2 small, as the model has it.
return {
  name = "block_gpt2_small",
  d_model = 768,
  heads = 12,
  max_seq = 1024,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  weights_layout = "in_out",
  block = { norm = "layernorm", eps = 1e-5, ffn = 3072, act = "gelu_tanh", bias = true },
  isa = { "avx2", "avx512" },
}
