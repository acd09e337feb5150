-- A pre-norm block with biases everywhere and a feed-forward that fills no panel; weights in_out,
-- on sets with and without fma.
return {
  name = "t_block_pre",
  d_model = 40,
  heads = 4,
  kv_heads = 2,
  head_dim = 12,
  max_seq = 600,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  weights_layout = "in_out",
  block = { norm = "layernorm", ffn = 100, act = "gelu", bias = true },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
