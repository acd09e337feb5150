-- q, k and v clamped with nothing else between projections and attention, as MPT has it.
return {
  name = "t_clip_bare",
  d_model = 30,
  heads = 3,
  head_dim = 10,
  max_seq = 100,
  causal = true,
  alibi = true,
  clip_qkv = 0.5,
  isa = { "scalar", "avx2", "avx512" },
}
