-- Values wider than keys, in a layer of another width still.
return {
  name = "t_vdim",
  d_model = 56,
  heads = 3,
  head_dim = 24,
  v_head_dim = 40,
  max_seq = 64,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  weights_layout = "in_out",
  emit = "layer",
  isa = { "scalar", "avx2", "avx512" },
}
