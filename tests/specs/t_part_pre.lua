-- Attention's part of a pre-norm decoder, as Whisper's and norm_first of PyTorch's;
-- t_cross_pre is the rest.
return {
  name = "t_part_pre",
  d_model = 20,
  heads = 2,
  max_seq = 300,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  block = { norm = "layernorm", ffn = 0 },
  isa = { "scalar", "avx2", "avx512" },
}
