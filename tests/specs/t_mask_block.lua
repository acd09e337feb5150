-- A mask and a range of keys in a block.
return {
  name = "t_mask_block",
  d_model = 24,
  heads = 2,
  head_dim = 12,
  max_seq = 300,
  mask = "bool",
  key_range = true,
  block = { norm = "rmsnorm", place = "pre", ffn = 40, act = "gelu" },
  isa = { "scalar", "avx2", "avx512" },
}
