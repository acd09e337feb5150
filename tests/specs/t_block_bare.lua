-- No norm before attention, as ModernBERT's first layer.
return {
  name = "t_block_bare",
  d_model = 30,
  heads = 3,
  max_seq = 250,
  rope = {},
  block = {
    norm = "layernorm",
    norm_bias = false,
    attention_norm = false,
    ffn = 48,
    act = "gelu",
    gated = true,
  },
  isa = { "scalar", "avx2", "avx512" },
}
