/* Specs that must be refused: impossible ones, and ones that attack the machine that reads them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

/* What a spec with mla needs. */
#define LATENT                                                                                     \
    "t.kv_heads = nil; t.head_dim = nil; t.causal = true; t.rope = {};"                            \
    "t.mla = { kv_rank = 9, nope_dim = 4, rope_dim = 2 };"

/* What line 3 changes in a good spec, and what the message must say. */
static const struct {
    const char *change, *words;
} impossible[] = {
    {"t.name = nil", "spec.lua: |name|missing"},
    {"t.name = 'Gpt'", "spec.lua:3: |'name' = \"Gpt\"|lower case"},
    {"t.name = '2x'", "'name'"},
    {"t.name = ''", "'name'"},
    {"t.name = 'a__b'", "'name'"},
    {"t.name = 'a_'", "'name'"},
    {"t.name = '../x'", "'name'"},
    {"t.name = 'x; rm -rf y'", "'name'"},
    {"t.name = ('x'):rep(41)", "'name'|40"},
    {"t.name = 'x\\n*/'", "'name'"},
    {"t.name = 7", "'name' = 7"},
    {"t.name = 'string'", "spec.lua:3: |'name' = \"string\"|a header, <string.h>|no header of C"},
    {"t.name = 'stddef'", "'name'|<stddef.h>"},
    {"t.name = 'cpuid'", "'name'|<cpuid.h>"},
    {"t.name = 'immintrin'", "'name'|header"},
    {"t.name = 'test'", "'name'|CMake"},
    {"t.name = 'foo_cache'", "'name' = \"foo_cache\"|ends in '_cache'"},
    {"t.name = 'foo_scalar'", "'name' = \"foo_scalar\"|ends in '_scalar'"},
    {"t.name = 'foo_avx512'", "ends in '_avx512'"},
    {"t.name = 'foo_sse4_2'", "ends in '_sse4_2'"},
    {"t.heads = nil", "heads|missing"},
    {"t.heads = 0", ":3: field 'heads' = 0|1 to 1024"},
    {"t.heads = -8", "'heads' = -8"},
    {"t.heads = 8.5", "'heads' = 8.5|whole number"},
    {"t.heads = '8'", "'heads' = \"8\"|whole number"},
    {"t.heads = true", "'heads' = true"},
    {"t.heads = {8}", "'heads' = { 8 }"},
    {"t.heads = 1e300", "'heads'"},
    {"t.heads = 0/0", "'heads' = nan"},
    {"t.heads = math.huge", "'heads' = inf"},
    {"t.heads = math.mininteger", "'heads'"},
    {"t.heads = 7", "kv_heads|7|not a multiple"},
    {"t.kv_heads = 0", ":3: field 'kv_heads' = 0"},
    {"t.kv_heads = 3", ":3: field 'kv_heads' = 3|divisor"},
    {"t.kv_heads = 16", ":3: field 'kv_heads' = 16|more than heads = 8"},
    {"t.head_dim = 0", "'head_dim' = 0"},
    {"t.head_dim = 1025", "'head_dim' = 1025|1024"},
    {"t.head_dim = nil", "head_dim|missing"},
    {"t.v_head_dim = 0", "'v_head_dim' = 0"},
    {"t.head_dim = nil; t.d_model = 63", ":3: field 'd_model' = 63|heads = 8"},
    {"t.d_model = 63; t.emit = 'attention'", ":3: field 'd_model' = 63|heads * head_dim = 64"},
    {"t.d_model = 0", "'d_model' = 0"},
    {"t.d_model = 2^21", "'d_model'|1048576"},
    {"t.max_seq = nil", "max_seq|missing|seq"},
    {"t.seq = 64", "'max_seq' = 64|seq = 64"},
    {"t.max_seq = 0", "'max_seq' = 0"},
    {"t.max_seq = 1 << 40", "'max_seq' = 1099511627776"},
    {"t.max_seq = 1 << 24; t.heads = 1024; t.kv_heads = 1024; t.head_dim = 1024", "max_seq|large"},
    {"t.max_seq = 1 << 23; t.rope = {}", "'max_seq' = 8388608|rope"},
    {"t.isa = nil", "isa|missing|scalar, sse4.2, avx2, avx512, neon"},
    {"t.isa = 'avx3'", ":3: field 'isa' = \"avx3\"|unknown instruction set|avx2"},
    {"t.isa = {}", "'isa' = {}"},
    {"t.isa = {'avx2', 'avx2'}", "'isa'|twice"},
    {"t.isa = {'avx2', ''}", "'isa'|a name is empty"},
    {"t.name = 'riscv_vector'", "'name'|is the name of a header, <riscv_vector.h>"},
    {"t.isa = {'avx2', 7}", "'isa'"},
    {"t.isa = {x = 'avx2'}", "'isa'"},
    {"t.isa = 'native'", "'isa'|--isa native"},
    {"t.causal = 1", "'causal' = 1|true or false"},
    {"t.causal = 'yes'", "'causal' = \"yes\""},
    {"t.scale = 0/0", "'scale' = nan"},
    {"t.scale = 0", "'scale' = 0"},
    {"t.scale = -1 / 0", "'scale' = -inf"},
    {"t.scale = 'nan'", "'scale' = \"nan\""},
    {"t.rope = true", "'rope' = true|theta"},
    {"t.rope = { theta = 0 }", ":3: field 'rope.theta' = 0"},
    {"t.rope = { theta = 1 / 0 }", "'rope.theta' = inf"},
    {"t.rope = { rotary_dim = 3 }", ":3: field 'rope.rotary_dim' = 3|even"},
    {"t.rope = { rotary_dim = 16 }", "'rope.rotary_dim' = 16|head_dim = 8"},
    {"t.rope = {}; t.head_dim = 65", "'head_dim' = 65|even"},
    {"t.rope = { layout = 'neox' }", "'rope.layout' = \"neox\"|half|interleaved"},
    {"t.rope = { thta = 1e4 }", "'rope.thta'|did you mean 'rope.theta'"},
    {"t.rope = { offset = -1 }", "'rope.offset' = -1"},
    {"t.max_seq = 1 << 22; t.rope = { offset = 1 }", "'max_seq' = 4194304|offset"},
    {"t.rope = { scaling = 8 }", "'rope.scaling' = 8|type, factor"},
    {"t.rope = { scaling = {} }", "'rope.scaling.type'|missing|llama3"},
    {"t.rope = { scaling = { type = 'ntk', factor = 2 } }",
     "'rope.scaling.type' = \"ntk\"|dynamic"},
    {"t.rope = { scaling = { type = 'linear' } }", "'rope.scaling.factor'|missing|linear"},
    {"t.rope = { scaling = { type = 'linear', factor = 0.5 } }",
     "'rope.scaling.factor' = 0.5|from 1"},
    {"t.rope = { scaling = { type = 'linear', factor = 0 / 0 } }", "'rope.scaling.factor' = nan"},
    {"t.rope = { scaling = { type = 'linear', factor = 2, beta_fast = 3 } }",
     "'rope.scaling.beta_fast' = 3.0|no such number|linear"},
    {"t.rope = { scaling = { type = 'linear', factor = 2, original_max_position = 64 } }",
     "'rope.scaling.original_max_position'|did you mean|original_max_position_embeddings"},
    {"t.rope = { scaling = { type = 'dynamic', factor = 2 } }",
     "'rope.scaling.original_max_position_embeddings'|missing|dynamic"},
    {"t.rope = { rotary_dim = 2, scaling = { type = 'dynamic', factor = 2, "
     "original_max_position_embeddings = 9 } }",
     "'rope.scaling.type' = \"dynamic\"|at least 4"},
    {"t.rope = { scaling = { type = 'llama3', factor = 8, low_freq_factor = 4, high_freq_factor = "
     "4, "
     "original_max_position_embeddings = 9 } }",
     "'rope.scaling.high_freq_factor' = 4.0|low_freq_factor = 4"},
    {"t.rope = { scaling = { type = 'yarn', factor = 8, original_max_position_embeddings = 9, "
     "mscale = 1 } }",
     "'rope.scaling.mscale_all_dim'|missing"},
    {"t.rope = { scaling = { type = 'yarn', factor = 8, original_max_position_embeddings = 9, "
     "beta_slow = 33 } }",
     "'rope.scaling.beta_fast'|below beta_slow = 33"},
    {"t.rope = { theta = 1, scaling = { type = 'yarn', factor = 8, "
     "original_max_position_embeddings = 9 } }",
     "'rope.scaling.type'|theta above 1"},
    {"t.rope = { scaling = { type = 'longrope', original_max_position_embeddings = 9, "
     "attention_factor = 1, short_factor = { 1, 1 }, long_factor = { 1, 1, 1, 1 } } }",
     "'rope.scaling.short_factor'|2 numbers|4 channel pairs"},
    {"t.rope = { scaling = { type = 'longrope', original_max_position_embeddings = 9, "
     "attention_factor = 1, short_factor = { 1, 1, 1, 1 }, long_factor = { 1, 1, 'x', 1 } } }",
     "'rope.scaling.long_factor'|number 3|a list of numbers"},
    {"t.rope = { scaling = { type = 'longrope', original_max_position_embeddings = 9, "
     "short_factor = { 1, 1, 1, 1 }, long_factor = { 1, 1, 1, 1 } } }",
     "'rope.scaling.attention_factor'|missing|factor"},
    {"t.head_dim = 9; t.rope = { rotary_dim = 4, scaling = { type = 'proportional' } }",
     "'rope.scaling.type'|even head_dim"},
    {"t.rope = {}; t.emit = 'attention'", "'rope'|emit"},
    {"t.qkv_bias = true; t.emit = 'attention'", "'qkv_bias'|layer"},
    {"t.weights_layout = 'in_out'; t.emit = 'attention'", "'weights_layout'|layer"},
    {"t.weights_layout = 'oi'", "'weights_layout'|out_in|in_out"},
    {"t.emit = 'block'", "'block'|missing|norm, ffn and act"},
    {"t.emit = 'blocks'", "'emit' = \"blocks\"|attention|layer|block"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu' }; t.emit = 'layer'",
     "'emit' = \"layer\"|it takes \"block\""},
    {"t.tile = 4", "'tile' = 4"},
    {"t.tile = { score_row = 4 }", "'tile.score_row'|did you mean 'tile.score_rows'"},
    {"t.tile = { score_rows = 0 }", "'tile.score_rows' = 0"},
    {"t.tile = { score_vectors = 3 }", "spec.lua:3: field 'tile.score_vectors' = 3: "},
    {"t.unroll = 0", "'unroll' = 0|full"},
    {"t.unroll = 'half'", "'unroll'|full"},
    {"t.unroll = 1024; t.head_dim = 576; t.tile = { score_rows = 4, score_vectors = 4 }",
     ":3: field 'unroll' = 576: |4 x 4 sums|9216 multiply-adds|at most 256"},
    {"t.window = -5", "'window' = -5|a whole number from 0"},
    {"t.window = 2.5", "'window' = 2.5|a whole number from 0"},
    {"t.window = { 4, 4 }", "'window'|a whole number from 0"},
    {"t.window_right = -1", "'window_right' = -1|a whole number from 0"},
    {"t.softcap = -1", "'softcap' = -1|a number from 0"},
    {"t.softcap = 1e-40", "'softcap' = 1e-40|too small"},
    {"t.sinks = { 0, 0, 0 }", "'sinks'|true or false"},
    {"t.mask = 'boolean'",
     "'mask' = \"boolean\"|\"none\" or \"bool\" or \"bias\", or a table with type, "
     "heads"},
    {"t.mask = true", "'mask' = true|\"bool\""},
    {"t.mask = {}", "'mask.type'|missing"},
    {"t.mask = { type = 'bool', heads = 'each' }", "'mask.heads' = \"each\"|only a mask of type"},
    {"t.mask = { type = 'bias', head = 'each' }", "'mask.head'|did you mean 'mask.heads'"},
    {"t.mask, t.tile = 'bool', { value_keys = 40 }", "'tile.value_keys' = 40|multiple of 32"},
    {"t.alibi = 8", "'alibi' = 8|true, false, or a table with bias_max, scale"},
    {"t.alibi = { slope = 8 }", "'alibi.slope'|unknown field|bias_max, scale"},
    {"t.alibi = { bias_max = 0 }", "'alibi.bias_max' = 0|a number from 0.001"},
    {"t.qk_norm = true", "'qk_norm' = true|type, width"},
    {"t.qk_norm = {}", "'qk_norm.type'|missing|rmsnorm"},
    {"t.qk_norm = { type = 'l2' }", "'qk_norm.type' = \"l2\"|rmsnorm|layernorm"},
    {"t.qk_norm = { type = 'rmsnorm', eps = 0 }", "'qk_norm.eps' = 0|1e-12"},
    {"t.qk_norm = { type = 'rmsnorm', order = 'no_rope' }; t.rope = {}",
     "'qk_norm.order' = \"no_rope\"|before_rope"},
    {"t.qk_norm = { type = 'rmsnorm', width = 'full', weights = 'per_head' }",
     "'qk_norm.weights' = \"per_head\"|leave it out"},
    {"t.qk_norm = { type = 'rmsnorm', unit_ofset = true }", "did you mean 'qk_norm.unit_offset'"},
    {"t.qk_norm = { type = 'rmsnorm' }; t.emit = 'attention'", "'qk_norm'|emit"},
    {"t.mla = 8", "'mla' = 8|a table with kv_rank, q_rank"},
    {"t.mla = {}", "'mla.kv_rank'|missing"},
    {"t.mla = { kv_rank = 9, nope_dim = 4 }", "'mla.rope_dim'|missing"},
    {"t.mla = { kv_lora_rank = 9 }", "'mla.kv_lora_rank'|did you mean 'mla.kv_rank'"},
    {"t.mla = { kv_rank = 9, nope_dim = 4, rope_dim = 3 }; t.head_dim = nil",
     "'mla.rope_dim' = 3|pairs of channels"},
    {"t.mla = { kv_rank = 9, nope_dim = 4, rope_dim = 2 }", "'head_dim' = 8|rope_dim = 6"},
    {"t.mla = { kv_rank = 1000, nope_dim = 4, rope_dim = 64 }; t.head_dim = nil",
     "'mla.kv_rank' = 1000|rope_dim = 64|1024"},
    {"t.mla = { kv_rank = 9, nope_dim = 1000, rope_dim = 64 }; t.head_dim = nil",
     "'mla.nope_dim' = 1000|rope_dim = 64|1024"},
    {LATENT "t.mla.eps = 0", "'mla.eps' = 0|1e-12"},
    {LATENT "t.mla.q_rank = 0", "'mla.q_rank' = 0|from 1"},
    {LATENT "t.emit = 'attention'", "'rope'|emit"},
    {LATENT "t.emit = 'attention'; t.rope = nil", "'emit' = \"attention\"|layer"},
    {LATENT "t.causal = false", "'causal' = false|causal = true"},
    {LATENT "t.kv_heads = 2", "'kv_heads' = 2|heads = 8|leave it out"},
    {LATENT "t.qk_norm = { type = 'rmsnorm' }", "'qk_norm'|mla norms its latents"},
    {LATENT "t.clip_qkv = 2", "'clip_qkv' = 2.0|latent form|clamped"},
    {LATENT "t.rope = nil", "'rope'|missing|rope_dim"},
    {LATENT "t.rope.rotary_dim = 4", "'rope.rotary_dim' = 4|mla.rope_dim = 2"},
    {LATENT "t.rope.scaling = { type = 'proportional' }", "'rope.scaling.type'|whole head"},
    {"t.clip_qkv = 1; t.emit = 'attention'", "'clip_qkv' = 1|projects"},
    {"t.relative_bias = { buckets = 7 }", "'relative_bias.buckets' = 7|odd"},
    {"t.relative_bias = { buckets = 2, bidirectional = true }", "'relative_bias.buckets' = 2|two"},
    {"t.relative_bias = { max_distance = 8 }", "'relative_bias.max_distance' = 8|own"},
    {"t.types = { cache = 'f16' }", "'types'|not supported yet"},
    {"t.cache = 'ring'", ":3: field 'cache' = \"ring\"|it takes a window"},
    {"t.cache = 'ring'; t.window = 9", "'cache'|causal = true or a window_right"},
    {"t.cache = 'circle'", "'cache' = \"circle\"|\"linear\" or \"ring\""},
    {"t.cross = {}", "'cross.max_seq'|missing"},
    {"t.cross = { max_seq = 0 }", "'cross.max_seq' = 0|a whole number from 1"},
    {"t.cross = { max_seq = 9, layers = 2 }", "'cross.layers'|unknown field"},
    {"t.cross = { max_seq = 9 }; t.causal = true", "'causal' = true|cross attention"},
    {"t.cross = { max_seq = 9 }; t.window = 4", "'window' = 4|cross attention"},
    {"t.cross = { max_seq = 9 }; t.rope = {}", "'rope'|cross attention"},
    {"t.cross = { max_seq = 9 }; t.seq = t.max_seq; t.max_seq = nil", "'seq'|give max_seq"},
    {"t.cross = { max_seq = 9, d_model = 8 }; t.emit = 'attention'", "'cross.d_model'|emit"},
    {"t.block = true", "'block' = true|a table with norm, place"},
    {"t.block = {}", "'block.norm'|missing|layernorm|rmsnorm"},
    {"t.block = { norm = 'rmsnorm', act = 'silu' }", "'block.ffn'|missing|width"},
    {"t.block = { norm = 'rmsnorm', ffn = 9 }", "'block.act'|missing|quick_gelu"},
    {"t.block = { norm = 'batchnorm', ffn = 9, act = 'silu' }",
     "'block.norm' = \"batchnorm\"|layernorm"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'swish' }", "'block.act' = \"swish\"|silu"},
    {"t.block = { norm = 'rmsnorm', ffn = -1, act = 'silu' }", "'block.ffn' = -1|0 to 1048576"},
    {"t.block = { norm = 'rmsnorm', ffn = 0, act = 'silu' }",
     "'block.act' = \"silu\"|ffn = 0|leave it out"},
    {"t.block = { norm = 'rmsnorm', ffn = 0, gated = true }", "'block.gated' = true|ffn = 0"},
    {"t.block = { norm = 'rmsnorm', ffn = 0, bias = true }", "'block.bias' = true|ffn = 0"},
    {"t.block = { norm = 'rmsnorm', ffn = 0, place = 'parallel' }",
     "'block.place' = \"parallel\"|beside attention"},
    {"t.block = { norm = 'rmsnorm', ffn = 0, attention_norm = false }",
     "'block.attention_norm' = false|no norm at all"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', place = 'post', attention_norm = false "
     "}",
     "'block.attention_norm' = false|place is \"post\""},
    {"t.block = { norm = 'rmsnorm', ffn = 0, layer_scale = true, residual_multiplier = 0.5 }",
     "'block.residual_multiplier' = 0.5|layer scale"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', place = 'after' }",
     "'block.place' = \"after\"|sandwich"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', parallel_norms = 2 }",
     "'block.parallel_norms' = 2|place is \"pre\""},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', eps = 0 }", "'block.eps' = 0|1e-12"},
    {"t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', residual_multiplier = 0 }",
     "'block.residual_multiplier' = 0|a number from"},
    {"t.block = { norm = 'rmsnorm', intermediate_size = 9, act = 'silu' }",
     "'block.intermediate_size'|did you mean 'block.ffn'"},
    {"t.numerics = 'fast'", "'numerics'|not supported yet"},
    {"t.sofcap = 50.0", ":3: field 'sofcap'|unknown field|did you mean 'softcap'"},
    {"t.kv_dtype = 'f32'", "'kv_dtype'|unknown field"},
    {"t.num_heads = 8", "'num_heads'|did you mean 'heads'"},
    {"t.hedas = 8", "did you mean 'heads'"},
    {"t.zzzzzzzz = 8", "'zzzzzzzz'|known are name, d_model"},
    {"t[1] = 8", "'1' = 8|unknown field"},
    {"t['a\\nb'] = 8", "unknown field"},
    {"t = nil", "returns nothing"},
    {"t = 5", "returns 5"},
    {"t.x = t", "holds itself"},
    {"t.name = tostring", "function"},
    {"t[1.5] = 2", "key"},
    {"for i = 1, 2000 do t[i] = i end", "1000 entries"},
    {"error('no such model')", "spec.lua:3: no such model"},
    {"error {}", "spec.lua: "},
    {"local x = y", "spec.lua:3: 'y' is not defined"},
    {"local x =", "spec.lua:4: |unexpected symbol"},
    {"return t, 1 garbage", "spec.lua:3: |garbage"},
    {"error('\\27[31m\\n')", "?[31m?"},
};

Test(specs, impossible_ones_are_refused) {
    enter();
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "local t = { name = 't', heads = 8, kv_heads = 2, head_dim = 8, max_seq = 64,\n"
                 "  isa = 'scalar' }\n%s\nreturn t\n",
                 impossible[i].change);
        write_text("spec.lua", text);
        expect_refusal(attnc("spec.lua"), impossible[i].change, impossible[i].words);
    }
}

/* Lines are those of the field itself, not of another one that is called so; of the table around it
 * where it is missing. */
static const struct {
    const char *text, *words;
} lines[] = {
    {"return { name = 't', heads = 2, head_dim = 8, max_seq = 64, isa = 'scalar',\n"
     "  qk_norm = { type = 'rmsnorm', eps = 1e-6 },\n"
     "  block = { norm = 'rmsnorm', ffn = 9, act = 'silu',\n"
     "    eps = 5 } }",
     "spec.lua:4: field 'block.eps' = 5"},
    {"return { name = 't', heads = 2, head_dim = 8, isa = 'scalar',\n"
     "  max_seq = 64,\n"
     "  cross = {} }",
     "spec.lua:3: field 'cross.max_seq'|missing"},
    {"return { name = 't', heads = 2, head_dim = 8, isa = 'scalar',\n"
     "  cross = { max_seq = 64 },\n"
     "  max_seq = 0 }",
     "spec.lua:3: field 'max_seq' = 0"},
    {"local t = { name = 't', heads = 2, head_dim = 8, max_seq = 64, isa = 'scalar' }\n"
     "t.qk_norm = { type = 'rmsnorm' }\n"
     "t.qk_norm.eps = 0\n"
     "t.block = { norm = 'rmsnorm', ffn = 9, act = 'silu', eps = 1 }\n"
     "return t",
     "spec.lua:3: field 'qk_norm.eps' = 0"},
    {"local b = { norm = 'rmsnorm',\n"
     "  eps = 0, ffn = 9, act = 'silu' }\n"
     "return { name = 't', heads = 2, head_dim = 8, max_seq = 64, isa = 'scalar',\n"
     "  qk_norm = { type = 'rmsnorm', eps = 1e-6 }, block = b }",
     "spec.lua:2: field 'block.eps' = 0"},
    {"return { name = 't', heads = 2, head_dim = 8, max_seq = 64, isa = 'scalar',\n"
     "  --[[ rope = { scaling = {\n"
     "    type = 'x' } } ]]\n"
     "  qk_norm = { type = 'rmsnorm' }, -- type = 'y'\n"
     "  rope = { layout = 'half', ['scaling'] = {\n"
     "    factor = 2, type\n"
     "    = 'twice' } } }",
     "spec.lua:6: field 'rope.scaling.type' = \"twice\""},
    {"local n = 3\n"
     "if n == 2 then n = 1 end\n"
     "return { name = ('}\\'--'), heads = 2, head_dim = 8, max_seq = 64, isa = 'scalar',\n"
     "  scale = 0 }",
     "spec.lua:3: field 'name' = \"}'--\""},
};

Test(specs, messages_name_the_line_of_the_field) {
    enter();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        write_text("spec.lua", lines[i].text);
        expect_refusal(attnc("spec.lua"), lines[i].text, lines[i].words);
    }
}

static void limit_memory(void) {
    struct rlimit limit = {64 << 20, 64 << 20};
    setrlimit(RLIMIT_AS, &limit);
    limit = (struct rlimit){1, 1}; /* a second of CPU time: then the kernel kills it */
    setrlimit(RLIMIT_CPU, &limit);
}

/* All of attnc gets 64 MiB and one second. */
static const struct {
    const char *text, *words;
} bombs[] = {
    {"while true do end", "too long"},
    {"::a:: goto a", "too long"},
    {"local function f(n) return 1 + f(n) end return f(1)", "spec.lua"},
    {"local function f(n) return f(n) end return f(1)", "too long"},
    {"local t = {} for i = 1, 1e9 do t[i] = { i } end", "memory"},
    {"local s = ('x'):rep(1e9) return {}", "memory"},
    {"local s = (''):rep(1e18) return {}", "too long"},
    {"local s = 'x' while true do s = s .. s end", "memory"},
    {"local s = ('x'):rep(1e7) for i = 1, 1e9 do s = s:reverse() end", "too long"},
    {"return string.format('%999999999d', 1)", "invalid conversion"},
    {"return string.format('%p', {})", "string.format"},
    {"local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1e5) end return table.concat(t)",
     "spec.lua"},
    {"while true do pcall(function() while true do end end) end", "'pcall' is not defined"},
    {"xpcall(error, error)", "'xpcall' is not defined"},
    {"local t = {} for i = 1, 1e5 do t[i] = i end "
     "table.sort(t, function() return true end)",
     "spec.lua"},
    {"local t = {} for i = 1, 1e6 do t[i] = i % 7 end while true do table.sort(t) end", "too long"},
    {"local t = {} for i = 1, 1e9 do table.insert(t, 1, i) end", "too long"},
    {"for i = 1, 1e9 do select('#', table.unpack({}, 1, 2e5)) end", "too long"},
    {"table.move({}, 1, 1e18, 2, {})", "'table.move' is not defined"},
    {"('a'):rep(1e5):find(('.-'):rep(100) .. 'b')", "'string.find' is not defined"},
    {"('a'):match('.-b')", "'string.match' is not defined"},
    {"('a'):gsub('.-b', '')", "'string.gsub' is not defined"},
    {"('a'):gmatch('.-b')", "'string.gmatch' is not defined"},
    {"string.dump(function() end)", "'string.dump' is not defined"},
    {"io.open('out', 'w')", "'io' is not defined"},
    {"os.execute('touch out')", "'os' is not defined"},
    {"require 'os'", "'require' is not defined"},
    {"load('return 1')()", "'load' is not defined"},
    {"loadstring('x')", "'loadstring' is not defined"},
    {"dofile('/etc/passwd')", "'dofile' is not defined"},
    {"debug.getregistry()", "'debug' is not defined"},
    {"coroutine.wrap(error)()", "'coroutine' is not defined"},
    {"collectgarbage('stop')", "'collectgarbage' is not defined"},
    {"getmetatable('').__index = nil", "'getmetatable' is not defined"},
    {"setmetatable({}, {})", "'setmetatable' is not defined"},
    {"rawset({}, 1, 2)", "'rawset' is not defined"},
    {"next({})", "'next' is not defined"},
    {"return math.random()", "'math.random' is not defined"},
    {"print('x')", "'print' is not defined"},
    {"_G.x = 1", "'_G' is not defined"},
    {"\033Lua", "binary chunk"},
    {"", "returns nothing"},
    {"#!/usr/bin/lua", "unexpected symbol"},
};

Test(specs, bombs_end_with_an_error) {
    enter();
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        write_text("spec.lua", bombs[i].text);
        expect_refusal(attnc_in(limit_memory, "spec.lua"), bombs[i].text, bombs[i].words);
    }
}

/* A spec made of `count` times the same letter between two texts. */
static void write_repeated(const char *before, char letter, size_t count, const char *after) {
    FILE *file = fopen("spec.lua", "wb");
    cr_assert_not_null(file);
    fputs(before, file);
    for (size_t i = 0; i < count; i++)
        putc(letter, file);
    fputs(after, file);
    cr_assert_eq(fclose(file), 0);
}

Test(specs, files_that_are_no_spec_are_refused) {
    enter();
    expect_refusal(attnc("none.lua"), "missing", "none.lua: No such file");
    expect_refusal(attnc("inof"), "misspelled command", "inof: No such file|--help");
    cr_assert_eq(mkdir("dir.lua", 0777), 0);
    expect_refusal(attnc("dir.lua"), "directory", "dir.lua: is a directory");
    cr_assert_eq(mkfifo("fifo.lua", 0600), 0);
    expect_refusal(attnc("fifo.lua"), "fifo", "fifo.lua");
    write_repeated("--", 'x', 2 << 20, "\n");
    expect_refusal(attnc("spec.lua"), "huge", "spec.lua: is too long");
    write_repeated("return ", '(', 100000, "");
    expect_refusal(attnc_in(limit_memory, "spec.lua"), "parentheses", "overflow");
    write_repeated("return ", '{', 100000, "");
    expect_refusal(attnc_in(limit_memory, "spec.lua"), "braces", "overflow");
    write_repeated("return [[", 'x', 500000, "]] garbage");
    expect_refusal(attnc_in(limit_memory, "spec.lua"), "long string", "garbage");
}

/* pairs() comes in one order, so that a spec is the same in every run. */
Test(specs, pairs_is_sorted) {
    enter();
    write_text("spec.lua", "local t, s = {}, ''\n"
                           "for i = 1, 26 do t[string.char(123 - i)] = i end\n"
                           "t[3], t[1], t[2.5] = 1, 1, 1\n"
                           "for k in pairs(t) do s = s .. k .. ' ' end\n"
                           "error(s)\n");
    expect_refusal(attnc("spec.lua"), "pairs",
                   "1 2.5 3 a b c d e f g h i j k l m n o p q r s t u v w x y z ");
}

Test(specs, set_is_checked_as_the_spec_is) {
    enter();
    static const struct {
        const char *set, *words;
    } rows[] = {
        {"heads", "FIELD=VALUE"},
        {"=3", "FIELD=VALUE"},
        {"a..b=3", "FIELD=VALUE"},
        {"heads=7", "kv_heads"},
        {"heads=0", "--set heads=0: field 'heads' = 0"},
        {"heads=", "spec.lua: field 'heads' is missing"},
        {"heads=nil", "spec.lua: field 'heads' is missing"},
        {"heads=(", "--set heads=(: |unexpected symbol"},
        {"heads=os.exit()", "--set heads=os.exit(): |'os' is not defined"},
        {"heads=(function() while true do end end)()", "too long"},
        {"hedas=8", "--set hedas=8: |did you mean 'heads'"},
        {"rope.theta=-1", "--set rope.theta=-1: field 'rope.theta' = -1"},
        {"name.x=1", "--set name.x=1: |no table"},
        {"tile.score_vectors=3", "--set tile.score_vectors=3: field 'tile.score_vectors' = 3: "},
        {"isa=avx9", "--set isa=avx9: field 'isa' = \"avx9\""},
        {"isa=avx2,scalar",
         "--set isa=avx2,scalar: |{ \"avx2\", \"scalar\" }|--isa takes avx2,scalar"},
        {"cross={}", "--set cross={}: field 'cross.max_seq': missing"},
    };
    write_text("spec.lua", "return { name = 't', heads = 8, kv_heads = 2, head_dim = 8,\n"
                           "  max_seq = 64, isa = 'scalar' }\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refusal(attnc("spec.lua", "--set", rows[i].set), rows[i].set, rows[i].words);
    expect_refusal(attnc("spec.lua", "--isa", "avx2,avx9"), "--isa",
                   "--isa avx2,avx9: field 'isa'|\"avx9\"");
}

Test(specs, usage_errors_are_refused) {
    enter();
    static const char *const rows[][5] = {
        {NULL},
        {"--bogus"},
        {"-o"},
        {"spec.lua", "--isa", ""},
        {"spec.lua", "-o", ""},
        {"spec.lua", "other.lua"},
        {"spec.lua", "--json"},
        {"info"},
        {"info", "spec.lua", "-o", "x"},
        {"info", "spec.lua", "spec.lua"},
        {"check"},
        {"verify"},
        {"verify", "spec.lua", "--isa", "avx2"},
        {"isa", "spec.lua"},
        {"isa", "--set", "heads=8"},
        {"help", "specs"},
        {"spec.lua", "--templates", "none"},
    };
    write_text("spec.lua",
               "return { name = 't', heads = 1, head_dim = 8, seq = 8, isa = 'scalar' }");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *row = rows[i];
        const struct run *run = attnc(row[0], row[1], row[2], row[3], row[4]);
        cr_expect_eq(run->status, 2, "row %zu: status %d", i, run->status);
        cr_expect_neq(run->err[0], 0, "row %zu: no message", i);
        cr_expect_str_empty(run->out, "row %zu", i);
        cr_expect_eq(count_files("out"), -1, "row %zu", i);
    }
}
