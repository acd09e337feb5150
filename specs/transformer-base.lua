-- Encoder block of the base model in "Attention Is All You Need" (Vaswani et al., 2017, sections
-- 3.1 to 3.3 and table 3): d_model 512, h = 8, d_k = d_v = 64, projections without bias; add & norm
-- after each part; a feed-forward of 2048 with ReLU and biases. The paper writes X W, so weights
-- are [inputs][outputs]. It limits no length and gives no eps: 512 and 1e-5 are ours.
return {
  name = "transformer_base",
  d_model = 512,
  heads = 8,
  max_seq = 512,
  weights_layout = "in_out",
  block = {
    norm = "layernorm",
    place = "post",
    eps = 1e-5,
    ffn = 2048,
    act = "relu",
    bias = true,
  },
  isa = { "scalar", "avx2", "avx512" },
}
