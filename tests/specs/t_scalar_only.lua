-- One instruction set alone.
return {
  name = "t_scalar_only",
  d_model = 8,
  heads = 2,
  max_seq = 32,
  causal = true,
  isa = "scalar",
}
