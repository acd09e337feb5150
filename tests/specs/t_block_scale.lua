-- Layer scales, as DINOv2's encoder; on sets with and without fma.
return {
  name = "t_block_scale",
  d_model = 50,
  heads = 5,
  max_seq = 260,
  qkv_bias = true,
  o_bias = true,
  block = {
    norm = "layernorm",
    eps = 1e-6,
    ffn = 90,
    act = "gelu",
    bias = true,
    layer_scale = true,
  },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
