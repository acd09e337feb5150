-- BERT base (Devlin et al., 2018): hidden_size 768, num_attention_heads 12 in its config.json.
-- Exactly 384 positions, the sequence length of its question answering (SQuAD) models.
return {
  name = "bert_base",
  d_model = 768,
  heads = 12,
  seq = 384,
  qkv_bias = true,
  o_bias = true,
  isa = { "scalar", "avx2", "avx512" },
}
