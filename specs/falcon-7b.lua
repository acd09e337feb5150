-- Falcon 7B: hidden_size 4544, num_attention_heads 71, multi_query (one KV head) in its config.json
-- with rotary positions at the default theta of 10000; projections without bias.
return {
  name = "falcon_7b",
  d_model = 4544,
  heads = 71,
  kv_heads = 1,
  head_dim = 64,
  max_seq = 2048,
  causal = true,
  rope = { theta = 10000, layout = "half" },
  isa = { "scalar", "avx2", "avx512" },
}
