-- ViT tiny as DeiT-Ti (Touvron et al., 2020, table 1): width 192, 3 heads.
-- Exactly 197 positions: 14 x 14 patches of a 224 x 224 image, and the class token.
return {
  name = "vit_tiny",
  d_model = 192,
  heads = 3,
  seq = 197,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
