-- GPT-2 small (Radford et al., 2019): n_embd 768, n_head 12, n_positions 1024 in its config.json.
-- Its checkpoints keep c_attn and c_proj as [inputs][outputs]; c_attn is wq, wk, wv side by side.
return {
  name = "gpt2_small",
  d_model = 768,
  heads = 12,
  max_seq = 1024,
  causal = true,
  qkv_bias = true,
  o_bias = true,
  weights_layout = "in_out",
  isa = { "scalar", "avx2", "avx512" },
}
