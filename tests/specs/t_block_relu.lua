-- A pre-norm block with ReLU, as T5's but for its biases, around an encoder's windows.
return {
  name = "t_block_relu",
  d_model = 16,
  heads = 2,
  max_seq = 90,
  window = 9,
  window_right = 5,
  block = { norm = "rmsnorm", ffn = 257, act = "relu" },
  isa = { "scalar", "avx2", "avx512" },
}
