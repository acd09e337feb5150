/* The generated block in a real, trained model: `story_test STORY DATA`, where STORY is the story
 * program and DATA a folder with stories260K.bin, tok512.bin and expected.json, the model's numbers
 * from a run by definition in double precision.
 *
 * On each instruction set that this CPU runs: the program prints the expected text; attention
 * inputs, attention outputs, block outputs and logits are near the expected ones, and their bits
 * those of the first instruction set. The attention within a block is seen by the layer's call, on
 * the block's weights and with caches of its own. Ends with `N passed, N failed, N skipped`.
 *
 * The bound: 2^-24 per rounding grows through the layers by about the square root of the number of
 * chained operations (5 layers of a few 64- to 172-term sums); values are compared with 2e-5 of the
 * largest value of their row, some fifteen times what is seen. */
#include "llama.h"

#include "stories260k.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double bound = 2e-5;
static int passed, failed, skipped;

static void check(int good, const char *isa, const char *what) {
    printf("%s %s: %s\n", good ? "pass" : "FAIL", isa, what);
    if (good)
        passed++;
    else
        failed++;
}

/* The largest error of a row, as a share of the row's largest value; a NaN gives infinity. */
static double row_error(const float *got, const json_t *want, int count) {
    double error = 0.0, size = 0.0;
    if (json_array_size(want) != (size_t)count)
        return INFINITY;
    for (int i = 0; i < count; i++) {
        const double value = json_number_value(json_array_get(want, (size_t)i));
        const double off = fabs((double)got[i] - value);
        if (!(off <= error))
            error = isnan(off) ? INFINITY : off;
        size = fmax(size, fabs(value));
    }
    return error / size;
}

static uint64_t hash(uint64_t before, const float *row, int count) {
    const unsigned char *bytes = (const unsigned char *)row;
    for (size_t i = 0; i < (size_t)count * sizeof *row; i++)
        before = (before ^ bytes[i]) * 1099511628211U;
    return before;
}

/* Attention as a step of the blocks has it: per layer a cache of its own. */
typedef struct attention {
    char *memory;
    void *caches, *scratch; /* STORIES260K_CACHE_BYTES apart, which keeps them aligned */
    float *in, *out;        /* [layers][dim] */
} attention;

static int attention_open(attention *own, const llama *model) {
    const size_t layers = (size_t)model->layers, dim = (size_t)model->dim;
    memset(own, 0, sizeof *own);
    own->memory = malloc(layers * STORIES260K_CACHE_BYTES + STORIES260K_CACHE_SCRATCH_BYTES +
                         STORIES260K_ALIGN);
    own->in = malloc(2 * layers * dim * sizeof(float));
    if (own->memory == NULL || own->in == NULL)
        return -1;
    own->out = own->in + layers * dim;
    own->caches = own->memory + (STORIES260K_ALIGN - (uintptr_t)own->memory % STORIES260K_ALIGN) %
                                    STORIES260K_ALIGN;
    own->scratch = (char *)own->caches + layers * STORIES260K_CACHE_BYTES;
    return 0;
}

static void attention_close(attention *own) {
    free(own->memory);
    free(own->in);
}

/* The attention of all layers, after the step that ran `token` at `position`. */
static int attention_step(attention *own, const llama *model, int token, int position) {
    const int dim = model->dim;
    const float *x = model->embedding + (size_t)token * (size_t)dim;
    for (int i = 0; i < model->layers; x = model->layer[i++].out) {
        void *cache = (char *)own->caches + (size_t)i * STORIES260K_CACHE_BYTES;
        float *in = own->in + (ptrdiff_t)i * dim;
        double squares = 0;
        for (int c = 0; c < dim; c++)
            squares += (double)x[c] * (double)x[c];
        for (int c = 0; c < dim; c++)
            in[c] = (float)((double)x[c] / sqrt(squares / dim + 1e-5)) *
                    model->layer[i].attention_norm[c];
        int status = position == 0 ? stories260k_cache_reset(cache) : STORIES260K_OK;
        if (status == STORIES260K_OK)
            status = stories260k_layer(model->layer[i].weights, cache, (size_t)position, 1, in,
                                       own->out + (ptrdiff_t)i * dim, own->scratch, NULL);
        if (status != STORIES260K_OK)
            return status;
    }
    return STORIES260K_OK;
}

/* Compares what the last step left in the model with one entry of "steps". */
static void check_step(const llama *model, const attention *own, const float *logits,
                       const json_t *step, const char *isa) {
    const char *index;
    json_t *want;
    double inputs = 0.0, outputs = 0.0, blocks = 0.0;
    char what[160];
    json_object_foreach(json_object_get(step, "layers"), index, want) {
        const long i = strtol(index, NULL, 10), dim = model->dim;
        inputs = fmax(inputs, row_error(own->in + i * dim, json_object_get(want, "attention_in"),
                                        model->dim));
        outputs = fmax(outputs, row_error(own->out + i * dim,
                                          json_object_get(want, "attention_out"), model->dim));
        blocks = fmax(
            blocks, row_error(model->layer[i].out, json_object_get(want, "block_out"), model->dim));
    }
    const double of_logits = row_error(logits, json_object_get(step, "logits"), model->vocab);
    snprintf(what, sizeof what,
             "position %d: errors of attention in %.1e, out %.1e, block %.1e, logits %.1e",
             (int)json_integer_value(json_object_get(step, "pos")), inputs, outputs, blocks,
             of_logits);
    check(inputs <= bound && outputs <= bound && blocks <= bound && of_logits <= bound, isa, what);
}

/* Runs the expected tokens through the model; returns a hash of every layer's outputs. */
static uint64_t check_numbers(const char *model_path, const json_t *expected, const char *isa) {
    llama model;
    uint64_t bits = 14695981039346656037U;
    const char *wrong = llama_open(&model, model_path);
    if (wrong != NULL) {
        check(0, isa, wrong);
        return 0;
    }
    const json_t *ids = json_object_get(expected, "greedy_ids");
    const json_t *steps = json_object_get(expected, "steps");
    float *logits = malloc((size_t)model.vocab * sizeof *logits);
    int token = (int)json_integer_value(json_object_get(expected, "start_token"));
    attention own;
    int good = attention_open(&own, &model) == 0 && logits != NULL, seen = 0;
    for (int position = 0; good && position < (int)json_array_size(ids); position++) {
        good = llama_step(&model, token, position, logits) == 0 &&
               attention_step(&own, &model, token, position) == 0;
        for (int i = 0; i < model.layers; i++)
            bits = hash(bits, model.layer[i].out, model.dim);
        bits = hash(bits, own.out, model.layers * model.dim);
        bits = hash(bits, logits, model.vocab);
        size_t index;
        json_t *step;
        json_array_foreach(steps, index, step) {
            if (json_integer_value(json_object_get(step, "pos")) == position) {
                check_step(&model, &own, logits, step, isa);
                seen++;
            }
        }
        token = (int)json_integer_value(json_array_get(ids, (size_t)position));
        for (int i = 0; i < model.vocab && position < 200; i++)
            good = good && !(logits[i] > logits[token]); /* the margin allows no other choice */
    }
    check(good && seen == (int)json_array_size(steps), isa, "every step runs, greedy tokens agree");
    free(logits);
    attention_close(&own);
    llama_close(&model);
    return bits;
}

static void check_text(const char *story, const char *data, const char *want, const char *isa) {
    char command[2048], text[4096];
    snprintf(command, sizeof command, "'%s' --isa %s '%s/stories260K.bin' '%s/tok512.bin'", story,
             isa, data, data);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the paths are the caller's own */
    size_t length = 0;
    if (pipe != NULL)
        length = fread(text, 1, sizeof text, pipe);
    const int status = pipe != NULL ? pclose(pipe) : -1;
    check(status == 0 && length == strlen(want) + 1 && memcmp(text, want, length - 1) == 0 &&
              text[length - 1] == '\n',
          isa, "the story is the expected text");
}

/* A checkpoint of another shape, and one cut short, are refused with the reason. */
static void check_refusals(const char *story) {
    static const struct {
        int32_t header[7];
        const char *reason;
    } rows[] = {
        {{64, 172, 5, 6, 4, 512, 512}, "n_heads is 6, but the kernel was written for 8"},
        {{64, 171, 5, 8, 4, 512, 512}, "hidden_dim is 171, but the kernel was written for 172"},
        {{64, 172, 5, 8, 4, 512, 1024}, "seq_len is 1024, but the kernel's cache holds 512"},
        {{64, 172, 0, 8, 4, 512, 512}, "n_layers 0"},
        {{64, 172, 5, 8, 4, 512, 512}, "it ends early"},
    };
    char path[1024];
    snprintf(path, sizeof path, "%s.refused", story);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llama model;
        FILE *file = fopen(path, "wb");
        int good = file != NULL && fwrite(rows[i].header, sizeof rows[i].header, 1, file) == 1;
        good = file != NULL && fclose(file) == 0 && good;
        const char *wrong = llama_open(&model, path);
        check(good && wrong != NULL && strstr(wrong, rows[i].reason) != NULL, "refused",
              rows[i].reason);
        llama_close(&model);
    }
    remove(path);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: story_test STORY DATA\n");
        return 2;
    }
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/expected.json", argv[2]);
    json_t *expected = json_load_file(path, 0, &error);
    if (expected == NULL) {
        fprintf(stderr, "story_test: %s: %s\n", path, error.text);
        return 1;
    }
    snprintf(path, sizeof path, "%s/stories260K.bin", argv[2]);

    char isas[] = STORIES260K_ISAS, *rest = isas, first[32] = "";
    uint64_t first_bits = 0;
    for (char *isa; (isa = strtok_r(rest, " ", &rest)) != NULL;) {
        if (stories260k_use_isa(isa) != STORIES260K_OK) {
            printf("skip %s: this CPU does not run it\n", isa);
            skipped++;
            continue;
        }
        const uint64_t bits = check_numbers(path, expected, isa);
        check_text(argv[1], argv[2],
                   json_string_value(json_object_get(expected, "text_after_200_steps")), isa);
        if (first[0] == '\0') {
            snprintf(first, sizeof first, "%s", isa);
            first_bits = bits;
        } else {
            check(bits == first_bits, isa, "outputs and logits have the first one's bits");
        }
    }
    check_refusals(argv[1]);
    json_decref(expected);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
