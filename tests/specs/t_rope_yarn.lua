-- YaRN as gpt-oss has it: limits that are no whole pairs, cosine and sine times a factor. Some
-- channels do not turn, and the pairs lie side by side.
return {
  name = "t_rope_yarn",
  d_model = 24,
  heads = 3,
  head_dim = 20,
  max_seq = 67,
  rope = {
    theta = 150000,
    rotary_dim = 14,
    layout = "interleaved",
    scaling = {
      type = "yarn",
      factor = 32,
      original_max_position_embeddings = 512,
      truncate = false,
    },
  },
  isa = { "scalar", "avx2", "avx512" },
}
