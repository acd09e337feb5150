-- LayerNorm of each head with weights and biases of its own; nothing turns.
return {
  name = "t_norm_layer",
  d_model = 20,
  heads = 3,
  head_dim = 48,
  v_head_dim = 4,
  max_seq = 65,
  qk_norm = { type = "layernorm", weights = "per_head", bias = true },
  isa = { "scalar_unfused", "scalar", "sse4.2", "avx2", "avx512" },
}
