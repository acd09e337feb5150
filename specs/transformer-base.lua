-- Encoder self-attention of the base model in "Attention Is All You Need" (Vaswani et al., 2017,
-- section 3.2.2 and table 3): d_model 512, h = 8, d_k = d_v = 64, projections without bias.
-- The paper writes X W, so the weights are [inputs][outputs]. It limits no length: 512 is ours.
return {
  name = "transformer_base",
  d_model = 512,
  heads = 8,
  max_seq = 512,
  weights_layout = "in_out",
  isa = { "scalar", "avx2", "avx512" },
}
