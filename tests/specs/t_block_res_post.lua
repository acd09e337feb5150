-- Norms of each part's output before it is added, as OLMo 2, beside norms of q and k with another
-- eps over the same width, sinks, ALiBi and a multiplier; in_out.
return {
  name = "t_block_res_post",
  d_model = 32,
  heads = 4,
  max_seq = 200,
  causal = true,
  sinks = true,
  alibi = true,
  weights_layout = "in_out",
  qk_norm = { type = "rmsnorm", width = "full", eps = 1e-5 },
  block = {
    norm = "rmsnorm",
    place = "res_post",
    ffn = 40,
    act = "silu",
    gated = true,
    residual_multiplier = 1.5,
  },
  isa = { "scalar", "avx2", "avx512" },
}
