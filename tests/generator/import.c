/* attnc import: real models' configs against what they say, row by row; configs that must be
 * refused; the specs that it writes. */
#include <criterion/criterion.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum { COLUMNS = 26, ROWS = 256 };

/* tests/data/models/expected.tsv: a head, then a row for each attention of a model. */
struct table {
    char *text;
    char *head[COLUMNS];
    char *rows[ROWS][COLUMNS]; /* [0] is the model's name, [1] the component's */
    size_t count;
};

static void split_cells(char *line, char *cells[COLUMNS]) {
    for (int i = 0; i < COLUMNS; i++) {
        cr_assert_not_null(line, "a row of fewer than %d cells", COLUMNS);
        cells[i] = line;
        line = strchr(line, '\t');
        if (line != NULL)
            *line++ = 0;
    }
    cr_assert_null(line, "a row of more than %d cells", COLUMNS);
}

static struct table *read_table(void) {
    static struct table table;
    char path[4200], *state = NULL;
    snprintf(path, sizeof path, "%s/tests/data/models/expected.tsv", project);
    table.text = read_text(path);
    cr_assert_not_null(table.text, "%s", path);
    split_cells(strtok_r(table.text, "\n", &state), table.head);
    for (char *line; (line = strtok_r(NULL, "\n", &state)) != NULL;) {
        cr_assert_lt(table.count, (size_t)ROWS);
        split_cells(line, table.rows[table.count++]);
    }
    return &table;
}

/* What is wrong with the rows that were read for a model, in the table's order; 0 if nothing. */
static int count_faults(const struct table *table, const char *model, const json_t *rows,
                        bool report) {
    int faults = 0;
    size_t next = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i][0], model) != 0)
            continue;
        const json_t *row = json_array_get(rows, next++);
        if (json_object_size(row) != COLUMNS + 1) { /* and the note, which is prose */
            faults++;
            if (report)
                cr_expect(false, "%s, %s: no such row", model, table->rows[i][1]);
            continue;
        }
        for (int column = 0; column < COLUMNS; column++) {
            const char *got = json_string_value(json_object_get(row, table->head[column]));
            const char *want = table->rows[i][column];
            if (got != NULL && strcmp(got, want) == 0)
                continue;
            faults++;
            if (report)
                cr_expect(false, "%s, %s: %s is '%s', not '%s'", model, table->rows[i][1],
                          table->head[column], got != NULL ? got : "missing", want);
        }
    }
    if (next == 0 || json_array_size(rows) != next) {
        faults++;
        if (report)
            cr_expect(false, "%s: %zu rows, not %zu", model, json_array_size(rows), next);
    }
    return faults;
}

static void config_path(char path[4200], const char *model) {
    snprintf(path, 4200, "%s/tests/data/models/%s.json", project, model);
}

static json_t *read_rows(const char *path) {
    const struct run *run = attnc("import", path, "--json");
    cr_assert_eq(run->status, 0, "%s: status %d: %s", path, run->status, run->err);
    cr_expect_str_empty(run->err);
    json_error_t error;
    json_t *rows = json_loads(run->out, JSON_REJECT_DUPLICATES, &error);
    cr_assert(json_is_array(rows), "%s: %s", path, error.text);
    return rows;
}

static void find_configs(glob_t *found) {
    char pattern[4200];
    config_path(pattern, "*");
    cr_assert_eq(glob(pattern, 0, NULL, found), 0, "no configs");
}

static const char *model_of(const char *path) {
    static char model[256];
    snprintf(model, sizeof model, "%s", strrchr(path, '/') + 1);
    *strrchr(model, '.') = 0;
    return model;
}

Test(import, every_config_says_what_it_should) {
    enter();
    struct table *table = read_table();
    glob_t found;
    size_t rows_read = 0;
    find_configs(&found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        json_t *rows = read_rows(found.gl_pathv[i]);
        rows_read += json_array_size(rows);
        count_faults(table, model_of(found.gl_pathv[i]), rows, true);
        json_decref(rows);
    }
    cr_expect_eq(rows_read, table->count,
                 "%zu rows read, %zu expected: a config or its rows are gone", rows_read,
                 table->count);
    cr_expect_eq(count_files("out"), -1, "--json wrote something");
    globfree(&found);
    free(table->text);
}

/* The comparison above sees every kind of fault. */
Test(import, the_comparison_can_fail) {
    enter();
    struct table *table = read_table();
    char path[4200];
    static const char model[] = "openai-gpt-oss-20b";
    config_path(path, model);
    json_t *rows = read_rows(path);
    cr_assert_eq(count_faults(table, model, rows, false), 0);
    cr_expect_gt(count_faults(table, "gpt2", rows, false), 0, "another model");
    cr_expect_gt(count_faults(table, "nobody", rows, false), 0, "no such model");
    for (int column = 0; column < COLUMNS; column++) {
        json_t *copy = json_deep_copy(rows), *row = json_array_get(copy, 1);
        json_object_set_new(row, table->head[column], json_string("other"));
        cr_expect_eq(count_faults(table, model, copy, false), 1, "%s", table->head[column]);
        json_object_del(row, table->head[column]);
        cr_expect_gt(count_faults(table, model, copy, false), 0, "%s", table->head[column]);
        json_decref(copy);
    }
    json_array_append(rows, json_array_get(rows, 0));
    cr_expect_gt(count_faults(table, model, rows, false), 0, "a row too much");
    json_array_remove(rows, 2);
    json_array_remove(rows, 1);
    cr_expect_gt(count_faults(table, model, rows, false), 0, "a row too few");
    json_decref(rows);
    free(table->text);
}

/* ---- blocks ---- */

/* The block of a written spec, or why it has none: by each model's code in transformers. */
static const struct {
    const char *model, *spec, *block;
} blocks[] = {
    {"gpt2", "gpt2",
     "block = { act = \"gelu_tanh\", bias = true, eps = 1e-05, ffn = 3072, norm = \"layernorm\" }"},
    {"EleutherAI-gpt-j-6b", "eleutherai_gpt_j_6b",
     "block = { act = \"gelu_tanh\", bias = true, eps = 1e-05, ffn = 16384, norm = \"layernorm\", "
     "place = \"parallel\" }"},
    {"EleutherAI-gpt-neox-20b", "eleutherai_gpt_neox_20b",
     "block = { act = \"gelu\", bias = true, eps = 1e-05, ffn = 24576, norm = \"layernorm\", "
     "parallel_norms = 2, place = \"parallel\" }"},
    {"tiiuae-falcon-7b", "tiiuae_falcon_7b",
     "block = { act = \"gelu\", eps = 1e-05, ffn = 18176, norm = \"layernorm\", place = "
     "\"parallel\" }"},
    {"tiiuae-falcon-40b", "tiiuae_falcon_40b",
     "block = { act = \"gelu\", eps = 1e-05, ffn = 32768, norm = \"layernorm\", parallel_norms = "
     "2, place = \"parallel\" }"},
    {"microsoft-phi-2", "microsoft_phi_2",
     "block = { act = \"gelu_tanh\", bias = true, eps = 1e-05, ffn = 10240, norm = \"layernorm\", "
     "place = \"parallel\" }"},
    {"facebook-opt-350m", "facebook_opt_350m",
     "block = { act = \"relu\", bias = true, eps = 1e-05, ffn = 4096, norm = \"layernorm\", place "
     "= \"post\" }"},
    {"bert-base-uncased", "bert_base_uncased",
     "block = { act = \"gelu\", bias = true, eps = 1e-12, ffn = 3072, norm = \"layernorm\", place "
     "= \"post\" }"},
    {"mosaicml-mpt-7b-instruct", "mosaicml_mpt_7b_instruct",
     "block = { act = \"gelu\", eps = 1e-05, ffn = 16384, norm = \"layernorm\", norm_bias = false "
     "}"},
    {"meta-llama-Llama-3.2-1B-Instruct", "meta_llama_llama_3_2_1b_instruct",
     "block = { act = \"silu\", eps = 1e-05, ffn = 8192, gated = true, norm = \"rmsnorm\" }"},
    {"google-gemma-2-2b-it", "google_gemma_2_2b_it_local",
     "block = { act = \"gelu_tanh\", eps = 1e-06, ffn = 9216, gated = true, norm = \"rmsnorm\", "
     "place = \"sandwich\", unit_offset = true }"},
    {"google-gemma-2b", "google_gemma_2b",
     "block = { act = \"gelu_tanh\", eps = 1e-06, ffn = 16384, gated = true, norm = \"rmsnorm\", "
     "unit_offset = true }"},
    {"allenai-OLMo-2-1124-7B", "allenai_olmo_2_1124_7b",
     "block = { act = \"silu\", eps = 1e-06, ffn = 11008, gated = true, norm = \"rmsnorm\", place "
     "= "
     "\"res_post\" }"},
    {"CohereForAI-c4ai-command-r-v01", "cohereforai_c4ai_command_r_v01",
     "block = { act = \"silu\", eps = 1e-05, ffn = 22528, gated = true, norm = \"layernorm\", "
     "norm_bias = false, place = \"parallel\" }"},
    {"ibm-granite-granite-3.3-2b-base", "ibm_granite_granite_3_3_2b_base",
     "norm = \"rmsnorm\", residual_multiplier = 0.22 }"},
    {"stabilityai-stablelm-2-12b", "stabilityai_stablelm_2_12b", "place = \"parallel\" }"},
    {"openai-clip-vit-base-patch32", "openai_clip_vit_base_patch32_vision",
     "block = { act = \"quick_gelu\", bias = true, eps = 1e-05, ffn = 3072, norm = \"layernorm\" "
     "}"},
    {"google-t5-small", "google_t5_small_encoder",
     "block = { act = \"relu\", eps = 1e-06, ffn = 2048, norm = \"rmsnorm\" }"},
    {"google-t5-small", "google_t5_small_decoder",
     "block = { eps = 1e-06, ffn = 0, norm = \"rmsnorm\" }"},
    {"google-t5-small", "google_t5_small_decoder",
     "-- block: self attention alone; the block of cross attention comes after it"},
    {"google-t5-small", "google_t5_small_cross",
     "block = { act = \"relu\", eps = 1e-06, ffn = 2048, norm = \"rmsnorm\" }"},
    {"google-t5-small", "google_t5_small_cross", "-- block: cross attention and feed-forward"},
    {"openai-whisper-base", "openai_whisper_base_decoder",
     "block = { eps = 1e-05, ffn = 0, norm = \"layernorm\" }"},
    {"openai-whisper-base", "openai_whisper_base_cross",
     "block = { act = \"gelu\", bias = true, eps = 1e-05, ffn = 2048, norm = \"layernorm\" }"},
    {"mistralai-Mixtral-8x7B-v0.1", "mistralai_mixtral_8x7b_v0_1",
     "block = { eps = 1e-05, ffn = 0, norm = \"rmsnorm\" }"},
    {"mistralai-Mixtral-8x7B-v0.1", "mistralai_mixtral_8x7b_v0_1",
     "-- block: attention alone; a norm and a mixture of experts come after it in each layer"},
    {"answerdotai-ModernBERT-base", "answerdotai_modernbert_base_local",
     "block = { act = \"gelu\", eps = 1e-05, ffn = 1152, gated = true, norm = \"layernorm\", "
     "norm_bias = false }"},
    {"answerdotai-ModernBERT-base", "answerdotai_modernbert_base_first",
     "block = { act = \"gelu\", attention_norm = false, eps = 1e-05, ffn = 1152, gated = true, "
     "norm = \"layernorm\", norm_bias = false }"},
    {"answerdotai-ModernBERT-base", "answerdotai_modernbert_base_global",
     "block = { act = \"gelu\", eps = 1e-05, ffn = 1152, gated = true, norm = \"layernorm\", "
     "norm_bias = false }"},
    {"google-gemma-2-2b-it", "google_gemma_2_2b_it_global",
     "-- embeddings: times 48 before the first block"},
    {"ibm-granite-granite-3.3-2b-base", "ibm_granite_granite_3_3_2b_base",
     "-- embeddings: times 12 before the first block"},
    {"karpathy-stories15M", "karpathy_stories15m",
     "act = \"silu\", eps = 1e-05, ffn = 768, gated = true, norm = \"rmsnorm\" }"},
};

Test(import, writes_blocks) {
    enter();
    char path[4200];
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        config_path(path, blocks[i].model);
        cr_assert_eq(attnc("import", path, "-o", "out")->status, 0);
        snprintf(path, sizeof path, "out/%s.lua", blocks[i].spec);
        char *text = read_text(path);
        cr_expect_not_null(strstr(text, blocks[i].block), "%s: no '%s' in\n%s", blocks[i].spec,
                           blocks[i].block, text);
        free(text);
    }
}

/* ---- what must be refused ---- */

#define GPT_NEO                                                                                    \
    "{\"model_type\": \"gpt_neo\", \"hidden_size\": 64, \"num_heads\": 4, \"num_layers\": 12"
#define QWEN3_MOE                                                                                  \
    "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 64, \"num_attention_heads\": 4, "            \
    "\"num_hidden_layers\": 2, \"moe_intermediate_size\": 32"

#define BAICHUAN(width)                                                                            \
    "{\"model_type\": \"baichuan\", \"hidden_size\": " width ", \"num_attention_heads\": 32, "     \
    "\"num_hidden_layers\": 2, \"intermediate_size\": 96, \"max_position_embeddings\": 4096"

/* A key of a good config gets another value, or none ("absent"); words of the message. Nested keys
 * have dots between. */
static const struct {
    const char *model, *key, *value, *words;
} refused[] = {
    {"TinyLlama-TinyLlama-1.1B-Chat-v1.0", "model_type", "absent", "'model_type' is missing"},
    {"gpt2", "model_type", "null", "'model_type' = null"},
    {"gpt2", "model_type", "7", "'model_type' = 7|text"},
    {"gpt2", "model_type", "\"gpt3\"", "'model_type' = \"gpt3\"|did you mean 'gpt2'"},
    {"gpt2", "model_type", "\"lama\"", "did you mean 'llama'"},
    {"gpt2", "model_type", "\"zzzzzzzz\"", "unknown model type|attnc help models"},
    {"gpt2", "model_type", "\"deberta-v2\"", "\"deberta-v2\"|disentangled"},
    {"gpt2", "model_type", "\"mamba\"", "not made of attention"},
    {"gpt2", "model_type", "\"\\u001b[31m\"", "unknown model type"},
    {"gpt2", "n_embd", "absent", "'n_embd' is missing|whole number"},
    {"gpt2", "n_embd", "null", "'n_embd' = null"},
    {"gpt2", "n_embd", "\"768\"", "'n_embd' = \"768\"|whole number"},
    {"gpt2", "n_embd", "768.0", "'n_embd' = 768.0|whole number"},
    {"gpt2", "n_embd", "0", "'n_embd' = 0|from 1 to"},
    {"gpt2", "n_embd", "1e300", "'n_embd'|whole number"},
    {"gpt2", "n_embd", "770", "'n_embd' = 770|n_head = 12|head_dim"},
    {"gpt2", "hidden_size", "512", "'hidden_size' = 512|contradicts|'n_embd' = 768"},
    {"gpt2", "n_head", "[12]", "'n_head' = [12]"},
    {"gpt2", "n_layer", "-1", "'n_layer' = -1"},
    {"gpt2", "activation_function", "\"gleu\"", "'activation_function' = \"gleu\"|gelu_new"},
    {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "'scale_attn_by_inverse_layer_idx'"},
    {"gpt2", "scale_attn_weights", "1", "'scale_attn_weights' = 1|true or false"},
    {"meta-llama-Meta-Llama-3-8B", "num_attention_heads", "absent",
     "'num_attention_heads'|missing"},
    {"meta-llama-Llama-3.2-1B-Instruct", "num_attention_heads", "30",
     "'num_key_value_heads' = 8|num_attention_heads = 30|multiple"},
    {"meta-llama-Meta-Llama-3-8B", "num_key_value_heads", "5", "'num_key_value_heads' = 5|divisor"},
    {"meta-llama-Meta-Llama-3-8B", "num_key_value_heads", "64", "'num_key_value_heads' = 64"},
    {"meta-llama-Meta-Llama-3-8B", "hidden_size", "4100",
     "'hidden_size' = 4100|num_attention_heads = 32|head_dim"},
    {"meta-llama-Meta-Llama-3-8B", "hidden_size", "null", "'hidden_size' = null"},
    {"meta-llama-Meta-Llama-3-8B", "intermediate_size", "absent", "'intermediate_size' is missing"},
    {"meta-llama-Meta-Llama-3-8B", "num_hidden_layers", "{}", "'num_hidden_layers' = "},
    {"meta-llama-Meta-Llama-3-8B", "attention_bias", "null",
     "'attention_bias' = null|true or false"},
    {"meta-llama-Meta-Llama-3-8B", "rope_theta", "\"5e5\"", "'rope_theta' = \"5e5\"|number"},
    {"meta-llama-Meta-Llama-3-8B", "rope_theta", "-1", "'rope_theta' = -1|from 1 to 1e+12"},
    {"meta-llama-Meta-Llama-3-8B", "rope_theta", "0", "'rope_theta' = 0|from 1 to 1e+12"},
    {"meta-llama-Meta-Llama-3-8B", "rope_theta", "1e300", "'rope_theta' = 1e+300|from 1 to"},
    {"meta-llama-Meta-Llama-3-8B", "rms_norm_eps", "1e300",
     "'rms_norm_eps' = 1e+300|from 1e-12 to 1"},
    {"meta-llama-Meta-Llama-3-8B", "rms_norm_eps", "-1e-5", "'rms_norm_eps' = -1e-05|from 1e-12"},
    {"meta-llama-Meta-Llama-3-8B", "rms_norm_eps", "true", "'rms_norm_eps' = true|a number from"},
    {"meta-llama-Meta-Llama-3-8B", "num_attention_heads", "4096",
     "'num_attention_heads' = 4096|from 1 to 1024"},
    {"meta-llama-Meta-Llama-3-8B", "num_attention_heads", "2",
     "'hidden_size' = 4096: heads of 2048 channels, with num_attention_heads = 2|from 1 to 1024"},
    {"meta-llama-Llama-3.2-1B-Instruct", "head_dim", "2048", "'head_dim' = 2048|from 1 to 1024"},
    {"meta-llama-Llama-3.2-1B-Instruct", "head_dim", "63", "'head_dim' = 63|63 channels|even"},
    {"meta-llama-Meta-Llama-3-8B", "max_position_embeddings", "1000000000000",
     "'max_position_embeddings' = 1000000000000|from 1 to 16777216"},
    {"meta-llama-Llama-3.2-1B-Instruct", "rope_scaling.factor", "1e300",
     "'rope_scaling.factor' = 1e+300|from 1 to 1e+06"},
    {"meta-llama-Llama-3.2-1B-Instruct", "rope_scaling.high_freq_factor", "1e300",
     "'rope_scaling.high_freq_factor' = 1e+300|from 1e-06 to 1e+06"},
    {"google-gemma-2-2b-it", "attn_logit_softcapping", "1e300",
     "'attn_logit_softcapping' = 1e+300|up to 1e+30"},
    {"google-t5-small", "relative_attention_num_buckets", "1",
     "'relative_attention_num_buckets' = 1|from 2 to 4096"},
    {"ibm-granite-granite-3.3-2b-base", "residual_multiplier", "1e9",
     "'residual_multiplier' = 1000000000.0|from 1e-06 to 1e+06"},
    {"mosaicml-mpt-7b-instruct", "attn_config.alibi_bias_max", "0",
     "'attn_config.alibi_bias_max' = 0|from 0.001 to 1000"},
    {"mosaicml-mpt-7b-instruct", "expansion_ratio", "1000",
     "'expansion_ratio' = 1000: a feed-forward 4096000 wide|from 0 to 1048576"},
    {"deepseek-ai-DeepSeek-V2-Lite", "kv_lora_rank", "4096",
     "'kv_lora_rank' = 4096|from 1 to 1023"},
    {"tiiuae-falcon-40b", "num_ln_in_parallel_attn", "3",
     "'num_ln_in_parallel_attn' = 3|from 1 to 2"},
    {"meta-llama-Meta-Llama-3-8B", "rope_scaling", "2", "'rope_scaling' = 2|object"},
    {"meta-llama-Meta-Llama-3-8B", "rope_scaling", "{\"factor\": 2.0}", "'rope_scaling.rope_type'"},
    {"meta-llama-Meta-Llama-3-8B", "rope_scaling", "{\"type\": \"linear\"}",
     "'rope_scaling.factor' is missing"},
    {"meta-llama-Meta-Llama-3-8B", "rope_scaling", "{\"type\": \"cubic\", \"factor\": 2.0}",
     "'rope_scaling.type' = \"cubic\"|linear, dynamic, llama3, yarn, longrope"},
    {"meta-llama-Meta-Llama-3-8B", "rope_scaling",
     "{\"type\": \"linear\", \"rope_type\": \"yarn\", \"factor\": 2.0}",
     "'rope_scaling.type'|contradicts"},
    {"meta-llama-Meta-Llama-3-8B", "rope_parameters",
     "{\"rope_type\": \"default\", \"rope_theta\": 10000.0}", "rope_theta'|contradicts|500000"},
    {"meta-llama-Llama-3.2-1B-Instruct", "rope_parameters",
     "{\"rope_type\": \"linear\", \"factor\": 2.0}",
     "'rope_scaling'|contradicts 'rope_parameters'"},
    {"meta-llama-Llama-3.2-1B-Instruct", "rope_scaling.low_freq_factor", "4",
     "'rope_scaling.high_freq_factor' = 4|low_freq_factor = 4"},
    {"meta-llama-Llama-3.2-1B-Instruct", "rope_scaling.original_max_position_embeddings", "absent",
     "'rope_scaling.original_max_position_embeddings' is missing"},
    {"microsoft-Phi-3-mini-128k-instruct", "rope_scaling.short_factor", "[1, 1]",
     "'rope_scaling.short_factor'|2 numbers|48"},
    {"microsoft-Phi-3-mini-128k-instruct", "rope_scaling.long_factor", "[1, \"x\"]",
     "'rope_scaling.long_factor'|number 2 of it is \"x\"|from 0.001 to"},
    {"microsoft-phi-2", "partial_rotary_factor", "1.5", "'partial_rotary_factor' = 1.5"},
    {"microsoft-phi-2", "partial_rotary_factor", "0.001", "'partial_rotary_factor'|head_dim = 80"},
    {"microsoft-phi-2", "partial_rotary_factor", "0.3625",
     "'partial_rotary_factor' = 0.3625: 29 channels of head_dim = 80|even"},
    {"EleutherAI-gpt-j-6b", "rotary_dim", "512", "'rotary_dim' = 512|256"},
    {"EleutherAI-pythia-6.9b-deduped", "partial_rotary_factor", "0.5",
     "'partial_rotary_factor' = 0.5|contradicts|'rotary_pct' = 0.25"},
    {"mistralai-Mistral-7B-v0.1", "sliding_window", "true", "'sliding_window' = true"},
    {"mistralai-Mixtral-8x7B-v0.1", "rope_theta", "absent", "'rope_theta' is missing"},
    {"openai-gpt-oss-20b", "layer_types", "[\"full_attention\"]", "'layer_types'|24"},
    {"openai-gpt-oss-20b", "num_hidden_layers", "25", "'layer_types'|num_hidden_layers = 25"},
    {"openai-gpt-oss-20b", "sliding_window", "null", "'sliding_window' = null|sliding layers"},
    {"google-gemma-3-1b-it", "layer_types", "[\"linear_attention\"]", "'layer_types'"},
    {"google-gemma-3-1b-it", "sliding_window_pattern", "0", "'sliding_window_pattern' = 0"},
    {"google-gemma-2b", "use_bidirectional_attention", "true", "'use_bidirectional_attention'"},
    {"google-gemma-2b", "head_dim", "null", "'head_dim' = null"},
    {"google-gemma-2b", "num_key_value_heads", "null", "'num_key_value_heads' = null"},
    {"Qwen-Qwen3-8B", "head_dim", "null", "'head_dim' = null"},
    {"google-gemma-3-4b-it", "text_config", "absent", "'text_config' is missing"},
    {"google-gemma-3-4b-it", "vision_config", "[]", "'vision_config'|object"},
    {"google-gemma-3-4b-it", "text_config.num_attention_heads", "6",
     "'text_config.num_key_value_heads'|num_attention_heads = 6"},
    {"google-gemma-3-4b-it", "text_config.model_type", "\"llama\"",
     "'text_config.model_type' = \"llama\"|gemma3_text"},
    {"google-gemma-3-4b-it", "vision_config.patch_size", "1000",
     "'vision_config.image_size' = 896"},
    {"mosaicml-mpt-7b-instruct", "no_bias", "false", "'no_bias' = false"},
    {"mosaicml-mpt-7b-instruct", "attn_config.alibi", "false", "'attn_config.alibi' = false"},
    {"mosaicml-mpt-7b-instruct", "attn_config.prefix_lm", "\"no\"",
     "'attn_config.prefix_lm' = \"no\""},
    {"bert-base-uncased", "position_embedding_type", "\"relative_key\"",
     "'position_embedding_type' = \"relative_key\"|absolute"},
    {"bert-base-uncased", "model_type", "absent", "'model_type' is missing"},
    {"openai-whisper-tiny", "decoder_attention_heads", "5",
     "'d_model' = 384|decoder_attention_heads = 5"},
    {"google-t5-small", "feed_forward_proj", "\"gated-tanh\"",
     "'feed_forward_proj' = \"gated-tanh\""},
    {"google-t5-small", "relative_attention_num_buckets", "31",
     "'relative_attention_num_buckets' = 31: odd"},
    {"google-vit-base-patch16-224", "image_size", "1048576",
     "'image_size' = 1048576: 4294967297 positions|from 1 to 16777216"},
    {"google-t5-small", "d_kv", "null", "'d_kv' = null"},
    {"deepseek-ai-DeepSeek-V2-Lite", "num_key_value_heads", "8", "'num_key_value_heads' = 8|16"},
    {"deepseek-ai-DeepSeek-V2-Lite", "kv_lora_rank", "null", "'kv_lora_rank' = null"},
    {"deepseek-ai-DeepSeek-V2-Lite", "first_k_dense_replace", "-1",
     "'first_k_dense_replace' = -1|from 0"},
    {"deepseek-ai-DeepSeek-V2-Lite", "moe_layer_freq", "0", "'moe_layer_freq' = 0|from 1"},
    {"karpathy-stories15M", "dim", "absent", "'model_type' is missing"},
    {"karpathy-stories15M", "n_kv_heads", "4", "'n_kv_heads' = 4|n_heads = 6"},
    {"tiiuae-falcon-40b", "num_kv_heads", "7", "'num_kv_heads' = 7|num_attention_heads = 128"},
};

/* Sets, or removes, the key at a dotted path. */
static void change(json_t *config, const char *path, const char *value) {
    char copy[256], *state = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    char *key = strtok_r(copy, ".", &state);
    for (char *next; (next = strtok_r(NULL, ".", &state)) != NULL; key = next)
        config = json_object_get(config, key);
    cr_assert(json_is_object(config), "%s", path);
    if (strcmp(value, "absent") == 0)
        cr_assert_eq(json_object_del(config, key), 0, "%s is absent anyway", path);
    else
        cr_assert_eq(json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0,
                     "%s: %s", path, value);
}

Test(import, what_contradicts_or_misses_is_refused) {
    enter();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char path[4200], what[512];
        config_path(path, refused[i].model);
        json_t *config = json_load_file(path, 0, NULL);
        cr_assert_not_null(config, "%s", path);
        change(config, refused[i].key, refused[i].value);
        cr_assert_eq(json_dump_file(config, "config.json", 0), 0);
        json_decref(config);
        snprintf(what, sizeof what, "%s, %s = %s", refused[i].model, refused[i].key,
                 refused[i].value);
        expect_refusal(attnc("import", "config.json"), what, refused[i].words);
        expect_refusal(attnc("import", "config.json", "--json"), what, "config.json: key ");
    }
}

Test(import, files_that_are_no_good_configs_are_refused) {
    enter();
    static const struct {
        const char *text, *words;
    } files[] = {
        {"", "config.json: line 1"},
        {"{\"model_type\": \"gpt2\",}", "line 1"},
        {"{\"n_head\": 1, \"n_head\": 2}", "n_head"},
        {"[]", "JSON object"},
        {"[1]", "JSON object"},
        {"3", "line 1"},
        {"{}", "'model_type' is missing"},
        {BAICHUAN("6144") "}", "'hidden_size' = 6144|4096, of the 7B|5120, of the 13B"},
        {BAICHUAN("4096") ", \"model_max_length\": 1}",
         "'model_max_length' = 1|contradicts 'max_position_embeddings' = 4096"},
        {"{\"model_type\": \"mistral3\"}", "\"mistral3\"|two axes|text_config"},
        {"{\"model_type\": \"qwen3_vl\"}", "\"qwen3_vl\"|three axes"},
        {"{\"Model_Type\": \"gpt2\"}", "'model_type' is missing, but there is 'Model_Type'"},
        {"{\"model_type\": \"\"}", "'model_type' = \"\"|attnc help models"},
        {"\xff\xfe{", "line 1|UTF-16; it takes JSON in UTF-8"},
        {"{\"model_type\": \"a\\u0000b\"}", "line 1: \\u0000 is not allowed near"},
        {"{\n\"rms_norm_eps\": NaN}", "line 2: invalid token near 'NaN'"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 99999999999999999999}", "line 1"},
        {GPT_NEO ", \"attention_types\": []}",
         "'attention_types' = []: it makes 0 layers, num_layers says 12"},
        {GPT_NEO ", \"attention_types\": [[[\"global\"], 6]]}",
         "'attention_types' = [[[\"global\"], 6]]: it makes 6 layers, num_layers says 12"},
        {GPT_NEO "}", "'attention_types' is missing: the class's own makes 24 layers, num_layers"},
        {QWEN3_MOE ", \"num_experts\": -1}", "'num_experts' = -1: it takes a whole number from 0"},
        {QWEN3_MOE ", \"decoder_sparse_step\": 0}", "'decoder_sparse_step' = 0: it takes a whole"},
        {QWEN3_MOE ", \"mlp_only_layers\": [\"0\"]}", "'mlp_only_layers' = |numbers of layers"},
        {QWEN3_MOE ", \"mlp_only_layers\": [0]}", "'intermediate_size' is missing"},
        {"{\"model_type\": \"deepseek_v2\", \"hidden_size\": 64, \"num_attention_heads\": 4, "
         "\"num_hidden_layers\": 2, \"intermediate_size\": 96, \"kv_lora_rank\": 1000}",
         "makes a spec that is none|'mla.kv_rank' = 1000: with rope_dim = 64 more than 1024"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char words[128];
        write_text("config.json", files[i].text);
        snprintf(words, sizeof words, "config.json|%s", files[i].words);
        const struct run *run = attnc("import", "config.json");
        expect_refusal(run, files[i].text, words);
    }
    expect_refusal(attnc("import", "none.json"), "missing", "none.json: No such file");
}

Test(import, wrong_calls_are_refused) {
    enter();
    char path[4200];
    config_path(path, "gpt2");
    expect_refusal(attnc("import"), "no file", "one config.json");
    expect_refusal(attnc("import", path, path), "two files", "one config.json");
    expect_refusal(attnc("import", path, "--set", "heads=2"), "--set", "does not take --set");
    expect_refusal(attnc("import", path, "--seq", "0"), "--seq 0", "--seq '0'|16777216");
    expect_refusal(attnc("import", path, "--seq", "12x"), "--seq 12x", "--seq '12x'");
    expect_refusal(attnc("import", path, "--seq", "-5"), "--seq -5", "--seq '-5'");
    expect_refusal(attnc("import", path, "--seq", "99999999999999999999"), "--seq", "--seq");
    expect_refusal(attnc("import", path, "--seq", "1025"), "a table", "--seq 1025|1024 positions");
    expect_refusal(attnc("import", path, "--isa", "avx3"), "--isa",
                   "avx3|scalar, sse4.2, avx2, avx512");
    expect_refusal(attnc("import", path, "--isa", ","), "--isa ,", "--isa ,");
    expect_refusal(attnc("import", path, "--json", "--seq", "8"), "--json", "does not take --seq");
    expect_refusal(attnc("import", path, "--json", "--isa", "avx2"), "--json", "not take --isa");
    expect_refusal(attnc("info", path, "--seq", "8"), "info --seq", "does not take --seq");
    config_path(path, "google-vit-base-patch16-224");
    expect_refusal(attnc("import", path, "--seq", "100"), "fixed", "--seq 100|197|image_size");
}

/* ---- the specs ---- */

static const char unsupported[] = "  attnc cannot write this one: ";

/* Every spec that import writes is accepted, or refused with the very message that import says
 * beside it. */
Test(import, specs_are_what_import_says_of_them, .timeout = 120) {
    enter();
    glob_t found;
    int accepted = 0, specs = 0;
    find_configs(&found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const struct run *run = attnc("import", found.gl_pathv[i], "-o", "specs");
        cr_assert_eq(run->status, 0, "%s: %s", found.gl_pathv[i], run->err);
        char *report = strdup(run->out), *line, *state = NULL, file[256] = "", problem[1024] = "";
        cr_assert_eq(chdir("specs"), 0);
        int files = count_files("."), seen = 0;
        for (line = strtok_r(report, "\n", &state);; line = strtok_r(NULL, "\n", &state)) {
            bool next = line == NULL || (line[0] != ' ' && strlen(line) > 4 &&
                                         strcmp(line + strlen(line) - 4, ".lua") == 0);
            if (next && file[0] != 0) {
                run = attnc("info", file);
                bool good = problem[0] == 0;
                cr_expect_eq(run->status, good ? 0 : 2, "%s: %s", file, run->err);
                cr_expect(!strstr(problem, "'rope") && !strstr(problem, "'qk_norm") &&
                              !strstr(problem, "'mla"),
                          "%s", problem);
                if (!good) {
                    char want[1100];
                    snprintf(want, sizeof want, "attnc: %s\n", problem);
                    cr_expect_str_eq(run->err, want);
                }
                accepted += good;
                seen++;
            }
            if (line == NULL)
                break;
            if (next) {
                snprintf(file, sizeof file, "%s", line);
                problem[0] = 0;
            } else if (strncmp(line, unsupported, sizeof unsupported - 1) == 0) {
                snprintf(problem, sizeof problem, "%s", line + sizeof unsupported - 1);
            }
        }
        cr_expect_eq(seen, files, "%s: %d specs told, %d written", found.gl_pathv[i], seen, files);
        specs += seen;
        free(report);
        cr_assert_eq(chdir(".."), 0);
        remove_tree("specs");
    }
    cr_expect_geq(specs, (int)found.gl_pathc);
    cr_expect_geq(accepted, 50, "only %d of %d specs are accepted", accepted, specs);
    globfree(&found);
}

static void expect_words(const char *path, const char *words) {
    char copy[1024], *state = NULL, *text = read_text(path);
    cr_assert_not_null(text, "%s", path);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        cr_expect_not_null(strstr(text, word), "%s: no '%s' in\n%s", path, word, text);
    free(text);
}

static void expect_no_word(const char *path, const char *word) {
    char *text = read_text(path);
    cr_assert_not_null(text, "%s", path);
    cr_expect_null(strstr(text, word), "%s: '%s' in\n%s", path, word, text);
    free(text);
}

static const struct run *import_data(const char *model, const char *option, const char *value) {
    char path[4200];
    config_path(path, model);
    const struct run *run = attnc("import", path, "-o", "specs", option, value);
    cr_expect_eq(run->status, 0, "%s: %s", model, run->err);
    return run;
}

/* --seq is for what has no number of its own: it is refused only where every part has one. */
Test(import, seq_is_for_the_parts_that_are_free, .timeout = 120) {
    enter();
    glob_t found;
    int refusals = 0;
    find_configs(&found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const struct run *run = attnc("import", found.gl_pathv[i], "-o", "specs", "--seq", "32");
        if (run->status == 2) {
            expect_refusal(run, found.gl_pathv[i], "--seq 32|197 positions, by image_size");
            refusals++;
            continue;
        }
        cr_expect_eq(run->status, 0, "%s: %s", found.gl_pathv[i], run->err);
        cr_expect_null(strstr(run->out, unsupported), "%s", run->out);
    }
    cr_expect_eq(refusals, 2, "%d configs of nothing but images", refusals); /* ViT and DeiT */
    globfree(&found);
    expect_words("specs/google_gemma_3_4b_it_vision.lua", "  seq = 4096,");
    expect_words("specs/google_gemma_3_4b_it_global.lua", "  seq = 32,");
    expect_words("specs/openai_clip_vit_base_patch32_vision.lua", "  seq = 50,");
    expect_words("specs/openai_clip_vit_base_patch32_text.lua", "  seq = 32,");
}

Test(import, specs_hold_what_was_read) {
    enter();
    import_data("gpt2", NULL, NULL);
    expect_words(
        "specs/gpt2.lua",
        "Written by attnc |attnc import gpt2.json\n|name = \"gpt2\"|d_model = 768,|"
        "heads = 12,|head_dim = 64,|max_seq = 1024,|"
        "isa = { \"scalar\", \"avx2\", \"avx512\", \"neon\" }|causal = true|qkv_bias = true|"
        "o_bias = true|weights_layout = \"in_out\"");
    import_data("google-gemma-2-27b-it", "--seq", "512");
    expect_words("specs/google_gemma_2_27b_it.lua",
                 "layers 0, 2, ..., 44 of 46|layers 1, 3, ..., 45 of 46|seq = 512,|scale = "
                 "0.08333333333333333,|"
                 "softcap = 50.0|kv_heads = 16|head_dim = 128");
    expect_no_word("specs/google_gemma_2_27b_it.lua", "window");
    cr_expect_eq(access("specs/google_gemma_2_27b_it_local.lua", F_OK), -1,
                 "a window of 4096 is none for 512 positions");
    import_data("google-gemma-2-27b-it", "--isa", "avx2");
    expect_words(
        "specs/google_gemma_2_27b_it_local.lua",
        "layers 0, 2, ..., 44 of 46|window = 4096|max_seq = 8192|isa = \"avx2\"|--isa avx2");
    import_data("meta-llama-Llama-3.2-1B-Instruct", NULL, NULL);
    expect_words(
        "specs/meta_llama_llama_3_2_1b_instruct.lua",
        "theta = 500000|type = \"llama3\"|factor = 32.0|low_freq_factor = 1.0|"
        "high_freq_factor = 4.0|original_max_position_embeddings = 8192|layout = \"half\"");
    const struct run *run = import_data("openai-whisper-tiny", NULL, NULL);
    cr_expect_not_null(strstr(run->out, "\n  biases        of q,v only; the others are zeros\n"),
                       "%s", run->out);
    expect_words("specs/openai_whisper_tiny_encoder.lua",
                 "seq = 1500|qkv_bias|biases: of q,v only; the others are zeros");
    expect_words("specs/openai_whisper_tiny_decoder.lua", "max_seq = 448|causal = true");
    expect_words("specs/openai_whisper_tiny_cross.lua", "max_seq = 448|cross = { max_seq = 1500 }");
    expect_no_word("specs/openai_whisper_tiny_cross.lua", "causal");
    import_data("deepseek-ai-DeepSeek-V2-Lite", NULL, NULL);
    expect_words("specs/deepseek_ai_deepseek_v2_lite_dense.lua",
                 "dense layers (0)|head_dim = 192|v_head_dim = 128|kv_rank = 512|nope_dim = 128|"
                 "rope_dim = 64|scale = 0.11472138|layout = \"interleaved\"|type = \"yarn\"|"
                 "block = { act = \"silu\", eps = 1e-06, ffn = 10944, gated = true");
    expect_words("specs/deepseek_ai_deepseek_v2_lite_experts.lua",
                 "experts layers (1-26)|-- block: attention alone; a norm and a mixture of experts|"
                 "kv_rank = 512|block = { eps = 1e-06, ffn = 0, norm = \"rmsnorm\" }");
    import_data("google-t5-small", "--seq", "64");
    expect_words("specs/google_t5_small_encoder.lua",
                 "seq = 64|scale = 1.0|buckets = 32|max_distance = 128|bidirectional = true");
    import_data("openai-gpt-oss-20b", NULL, NULL);
    expect_words("specs/openai_gpt_oss_20b_local.lua",
                 "sinks = true|window = 128|truncate = false|attention_factor = 1.3465735");
    import_data("answerdotai-ModernBERT-base", NULL, NULL);
    expect_words("specs/answerdotai_modernbert_base_local.lua", "window = 65|window_right = 65");
    import_data("stabilityai-stablelm-2-12b", NULL, NULL);
    expect_words("specs/stabilityai_stablelm_2_12b.lua",
                 "type = \"layernorm\"|weights = \"per_head\"|eps = 1e-05|rotary_dim = 40");
}

/* Names too long for a suffix are cut alike, by the longest. */
Test(import, specs_of_a_model_share_a_stem) {
    enter();
    import_data("CohereForAI-c4ai-command-r7b-12-2024", NULL, NULL);
    expect_words("specs/cohereforai_c4ai_command_r7b_12_2_local.lua", "window = 4096");
    expect_words("specs/cohereforai_c4ai_command_r7b_12_2_global.lua", "max_seq = 8192");
    cr_expect_eq(count_files("specs"), 2);
}

static void other_surroundings(void) {
    if (chdir("elsewhere") != 0)
        _exit(125);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("TZ", "Pacific/Kiritimati", 1);
    unsetenv("PATH");
    umask(077);
}

Test(import, the_same_config_gives_the_same_bytes, .timeout = 120) {
    enter();
    glob_t found;
    find_configs(&found);
    cr_assert_eq(mkdir("elsewhere", 0777), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        char copy[4200], *text = read_text(path);
        snprintf(copy, sizeof copy, "elsewhere/%s", strrchr(path, '/') + 1);
        write_text(copy, text);
        free(text);
        cr_assert_eq(attnc("import", path, "-o", "a")->status, 0);
        text = strdup(attnc("import", path, "--json")->out);
        cr_assert_eq(attnc_in(other_surroundings, "import", copy + 10, "-o", "../b")->status, 0);
        cr_expect(same_files("a", "b"), "%s differs", path);
        cr_expect_str_eq(attnc_in(other_surroundings, "import", copy + 10, "--json")->out, text);
        free(text);
        remove_tree("a");
        remove_tree("b");
    }
    globfree(&found);
}

Test(import, files_appear_whole_or_not_at_all) {
    enter();
    char path[4200];
    config_path(path, "openai-whisper-tiny");
    cr_expect_eq(attnc("import", path)->status, 0);
    cr_expect_eq(count_files("out/specs/openai_whisper_tiny"), 3);
    const struct run *run = attnc("import", path);
    cr_expect_eq(run->status, 0);
    cr_expect_not_null(strstr(run->out, ", unchanged"));
    /* a spec whose first line is gone is the user's own */
    write_text("out/specs/openai_whisper_tiny/openai_whisper_tiny_cross.lua", "return {}\n");
    run = attnc("import", path, "--isa", "scalar");
    cr_expect_eq(run->status, 1);
    cr_expect_not_null(strstr(run->err, "is in the way"), "%s", run->err);
    cr_expect_str_empty(run->out);
    expect_words("out/specs/openai_whisper_tiny/openai_whisper_tiny_encoder.lua", "\"avx512\"");
    /* --json with -o does both */
    run = attnc("import", path, "--json", "-o", "both", "--seq", "7");
    cr_expect_eq(run->status, 0, "%s", run->err);
    json_t *rows = json_loads(run->out, 0, NULL);
    cr_expect_eq(json_array_size(rows), 3);
    json_decref(rows);
    expect_words("both/openai_whisper_tiny_decoder.lua", "  seq = 7,");
    expect_words("both/openai_whisper_tiny_encoder.lua", "  seq = 1500,");
    /* a byte order mark is none of the text; the only spec goes by the name of the file */
    write_text("marked.json", "\xef\xbb\xbf{\"model_type\": \"gpt2\", \"n_embd\": 64, "
                              "\"n_head\": 4, \"n_layer\": 2}");
    cr_expect_eq(attnc("import", "marked.json", "-o", "marked")->status, 0);
    cr_expect_eq(access("marked/marked.lua", F_OK), 0);
    /* a file called config.json goes by its directory's name */
    char *text = read_text(path);
    cr_assert_eq(mkdir("My-Model.2", 0777), 0);
    write_text("My-Model.2/config.json", text);
    free(text);
    cr_expect_eq(attnc("import", "My-Model.2/config.json", "-o", "named")->status, 0);
    cr_expect_eq(access("named/my_model_2_encoder.lua", F_OK), 0);
}

/* ---- model types one by one ---- */

static void note_types(json_t *types, const json_t *config) {
    static const char *const parts[] = {"text_config", "vision_config"};
    const json_t *type = json_object_get(config, "model_type");
    if (json_is_string(type))
        json_object_set_new(types, json_string_value(type), json_true());
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (json_is_object(json_object_get(config, parts[i])))
            note_types(types, json_object_get(config, parts[i]));
}

/* tests/data/model_types.json: small configs, some cells of the rows that they give, and what the
 * specs and what import prints hold, with --seq where it is given. */
Test(import, model_types_are_read_by_their_definitions) {
    enter();
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/data/model_types.json", project);
    json_t *cases = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *test;
    cr_assert(json_is_array(cases), "%s", path);
    size_t i, number;
    json_array_foreach(cases, i, test) {
        const char *what = json_string_value(json_object_get(test, "what")), *column;
        const json_t *want = json_object_get(test, "rows");
        json_t *row, *value;
        cr_assert_eq(json_dump_file(json_object_get(test, "config"), "config.json", 0), 0);
        json_t *rows = read_rows("config.json");
        if (want != NULL)
            cr_expect_eq(json_array_size(rows), json_array_size(want), "%s: %zu rows", what,
                         json_array_size(rows));
        json_array_foreach(want, number, row) {
            const json_t *got = json_array_get(rows, number);
            json_object_foreach(row, column, value) {
                const char *cell = json_string_value(json_object_get(got, column));
                cr_expect(cell != NULL && strcmp(cell, json_string_value(value)) == 0,
                          "%s, row %zu: %s is '%s', not '%s'", what, number, column,
                          cell != NULL ? cell : "missing", json_string_value(value));
            }
        }
        json_decref(rows);
        const char *seq = json_string_value(json_object_get(test, "seq"));
        const struct run *run =
            attnc("import", "config.json", "-o", "specs", seq != NULL ? "--seq" : NULL, seq);
        cr_expect_eq(run->status, 0, "%s: %s", what, run->err);
        cr_expect_geq(count_files("specs"), 1, "%s", what);
        if ((value = json_object_get(test, "report")) != NULL) {
            write_text("report", run->out);
            expect_words("report", json_string_value(value));
        }
        json_object_foreach(json_object_get(test, "specs"), column, value) {
            snprintf(path, sizeof path, "specs/%s.lua", column);
            expect_words(path, json_string_value(value));
        }
        remove_tree("specs");
    }
    json_decref(cases);
}

/* No model type goes without a test. */
Test(import, every_model_type_is_tested) {
    enter();
    char path[4200], *state = NULL;
    json_t *types = json_object(), *test;
    size_t number;
    glob_t found;
    find_configs(&found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        json_t *config = json_load_file(found.gl_pathv[i], 0, NULL);
        note_types(types, config);
        json_decref(config);
    }
    globfree(&found);
    snprintf(path, sizeof path, "%s/tests/data/model_types.json", project);
    json_t *cases = json_load_file(path, 0, NULL);
    json_array_foreach(cases, number, test) {
        note_types(types, json_object_get(test, "config"));
        /* its name, up to a colon, where the config has no model_type or leaves a part's out */
        char what[128];
        snprintf(what, sizeof what, "%s", json_string_value(json_object_get(test, "what")));
        what[strcspn(what, ":")] = 0;
        json_object_set_new(types, what, json_true());
    }
    json_decref(cases);
    static const char *const parts[] = {"siglip_text_model", "mllama_text_model",
                                        "mllama_vision_model"}; /* of siglip, mllama */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        json_object_set_new(types, parts[i], json_true());
    char *help = strdup(attnc("help", "models")->out);
    int known = 0;
    strtok_r(help, "\n", &state); /* the heading */
    for (char *name; (name = strtok_r(NULL, "\n", &state)) != NULL; known++)
        cr_expect_not_null(json_object_get(types, name), "no test of %s", name);
    cr_expect_gt(known, 60);
    free(help);
    json_decref(types);
}

Test(import, help_tells_of_it) {
    enter();
    const struct run *run = attnc("import", "--help");
    cr_expect_eq(run->status, 0);
    cr_expect_not_null(strstr(run->out, "  attnc import CONFIG  "), "%s", run->out);
    cr_expect_not_null(strstr(run->out, "  --seq N "), "%s", run->out);
    run = attnc("help", "models");
    cr_expect_eq(run->status, 0);
    cr_expect_not_null(strstr(run->out, "\nllama\n"), "%s", run->out);
    cr_expect_eq(attnc("help", "model")->status, 2);
}
