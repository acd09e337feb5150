#include "llama.h"

#include "stories260k.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_WORDS = 7 };

static const char *problem(const char *format, ...) {
    static char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

/* The header's seven numbers against what the kernel was written for. */
static const char *check_header(const int32_t *header) {
    const struct {
        const char *name;
        long has, needs;
    } rows[] = {
        {"dim", header[0], STORIES260K_D_MODEL},
        {"hidden_dim", header[1], STORIES260K_FFN},
        {"n_heads", header[3], STORIES260K_HEADS},
        {"n_kv_heads", header[4], STORIES260K_KV_HEADS},
        {"dim / n_heads", header[3] != 0 ? header[0] / header[3] : 0, STORIES260K_HEAD_DIM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].has != rows[i].needs)
            return problem("%s is %ld, but the kernel was written for %ld: this takes a kernel "
                           "written from a spec of the model's own shape",
                           rows[i].name, rows[i].has, rows[i].needs);
    if (header[6] < 1 || header[6] > STORIES260K_CAPACITY)
        return problem("seq_len is %ld, but the kernel's cache holds %ld positions",
                       (long)header[6], (long)STORIES260K_CAPACITY);
    if (header[2] < 1 || header[2] > 1024 || header[5] == 0 || labs((long)header[5]) > 1 << 24)
        return problem("n_layers %ld, vocab_size %ld cannot be", (long)header[2], (long)header[5]);
    return NULL;
}

/* Reads the header and all the tensors behind it. */
static const char *read_file(llama *model, FILE *file, int32_t *header) {
    if (fread(header, sizeof *header, HEADER_WORDS, file) != HEADER_WORDS)
        return problem("it is too short for a header");
    const char *wrong = check_header(header);
    if (wrong != NULL)
        return wrong;

    const size_t dim = (size_t)header[0], layers = (size_t)header[2];
    const size_t vocab = (size_t)labs((long)header[5]);
    const size_t rope_tables = (size_t)header[6] * STORIES260K_HEAD_DIM; /* unused */
    const size_t classifier = header[5] < 0 ? vocab * dim : 0;           /* else the embedding */
    const size_t floats =
        vocab * dim + layers * STORIES260K_PARAMETERS + dim + rope_tables + classifier;
    model->tensors = malloc(floats * sizeof(float));
    if (model->tensors == NULL)
        return problem("there is no memory for its %zu bytes", floats * sizeof(float));
    if (fread(model->tensors, sizeof(float), floats, file) != floats)
        return problem("it ends early: a header of this shape is followed by %zu bytes",
                       floats * sizeof(float));
    model->dim = (int)dim;
    model->layers = (int)layers;
    model->vocab = (int)vocab;
    model->positions = header[6];
    return NULL;
}

static const float *take(const float **at, size_t count) {
    const float *taken = *at;
    *at += count;
    return taken;
}

static size_t aligned(size_t bytes) {
    return (bytes + STORIES260K_ALIGN - 1) / STORIES260K_ALIGN * STORIES260K_ALIGN;
}

/* One allocation for the kernel's memory: per layer its weights and its cache, then the scratch. */
static int allocate(llama *model) {
    const size_t dim = (size_t)model->dim, layers = (size_t)model->layers;
    const size_t weights = aligned(STORIES260K_BLOCK_WEIGHTS_BYTES);
    const size_t cache = aligned(STORIES260K_CACHE_BYTES);
    model->layer = calloc(layers, sizeof *model->layer);
    model->memory =
        malloc(layers * (weights + cache) + STORIES260K_CACHE_SCRATCH_BYTES + STORIES260K_ALIGN);
    model->x = malloc((layers + 1) * dim * sizeof(float));
    if (model->layer == NULL || model->memory == NULL || model->x == NULL)
        return -1;

    char *at = model->memory;
    at += (STORIES260K_ALIGN - (uintptr_t)at % STORIES260K_ALIGN) % STORIES260K_ALIGN;
    for (size_t i = 0; i < layers; i++) {
        model->layer[i].weights = at;
        model->layer[i].cache = at + weights;
        model->layer[i].out = model->x + (i + 1) * dim;
        at += weights + cache;
    }
    model->scratch = at;
    return 0;
}

/* The checkpoint holds all layers' tensors of a kind together, in this order. */
static int lay_out(llama *model) {
    const size_t dim = STORIES260K_D_MODEL, hidden = STORIES260K_FFN;
    const size_t layers = (size_t)model->layers, vocab = (size_t)model->vocab;
    const size_t q = (size_t)STORIES260K_HEADS * STORIES260K_HEAD_DIM * dim;
    const size_t kv = (size_t)STORIES260K_KV_HEADS * STORIES260K_HEAD_DIM * dim;
    const float *at = model->tensors;
    model->embedding = take(&at, vocab * dim);
    const float *attention_norm = take(&at, layers * dim);
    const float *wq = take(&at, layers * q), *wk = take(&at, layers * kv);
    const float *wv = take(&at, layers * kv), *wo = take(&at, layers * q);
    const float *ffn_norm = take(&at, layers * dim);
    const float *w1 = take(&at, layers * hidden * dim), *w2 = take(&at, layers * hidden * dim);
    const float *w3 = take(&at, layers * hidden * dim);
    model->final_norm = take(&at, dim);
    take(&at, (size_t)model->positions * STORIES260K_HEAD_DIM);
    model->classifier = at;

    for (size_t i = 0; i < layers; i++) {
        const stories260k_block_weights source = {
            .attention = {.wq = wq + i * q, .wk = wk + i * kv, .wv = wv + i * kv, .wo = wo + i * q},
            .attention_norm = attention_norm + i * dim,
            .ffn_norm = ffn_norm + i * dim,
            .w_gate = w1 + i * hidden * dim,
            .w_up = w3 + i * hidden * dim,
            .w_down = w2 + i * hidden * dim,
        };
        model->layer[i].attention_norm = source.attention_norm;
        const int status = stories260k_pack_block_weights(&source, model->layer[i].weights);
        if (status != STORIES260K_OK)
            return status;
    }
    return STORIES260K_OK;
}

const char *llama_open(llama *model, const char *path) {
    memset(model, 0, sizeof *model);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return problem("%s: %s", path, strerror(errno));
    int32_t header[HEADER_WORDS];
    const char *wrong = read_file(model, file, header);
    fclose(file);
    if (wrong == NULL) {
        const int status = allocate(model) != 0 ? STORIES260K_ERROR_NULL : lay_out(model);
        if (status != STORIES260K_OK)
            wrong = problem("the kernel's memory cannot be set up (status %d)", status);
        else if (header[5] > 0)
            model->classifier = model->embedding;
    }
    if (wrong == NULL)
        return NULL;
    char reason[256];
    snprintf(reason, sizeof reason, "%s", wrong);
    llama_close(model);
    return problem("%s: %s", path, reason);
}

void llama_close(llama *model) {
    free(model->tensors);
    free(model->layer);
    free(model->memory);
    free(model->x);
    memset(model, 0, sizeof *model);
}

static void rms_norm(const float *x, const float *gain, int count, float *out) {
    float sum = 0.0f;
    for (int i = 0; i < count; i++)
        sum += x[i] * x[i];
    const float factor = 1.0f / sqrtf(sum / (float)count + 1e-5f);
    for (int i = 0; i < count; i++)
        out[i] = x[i] * factor * gain[i];
}

/* out[rows] = w[rows][columns] x */
static void multiply(const float *w, const float *x, int rows, int columns, float *out) {
    for (int r = 0; r < rows; r++) {
        float sum = 0.0f;
        for (int c = 0; c < columns; c++)
            sum += w[(size_t)r * (size_t)columns + (size_t)c] * x[c];
        out[r] = sum;
    }
}

int llama_step(llama *model, int token, int position, float *logits) {
    const size_t dim = (size_t)model->dim;
    float *x = model->x;
    memcpy(x, model->embedding + (size_t)token * dim, dim * sizeof *x);

    for (int i = 0; i < model->layers; i++) {
        const llama_layer *layer = &model->layer[i];
        int status = position == 0 ? stories260k_cache_reset(layer->cache) : STORIES260K_OK;
        if (status == STORIES260K_OK)
            status = stories260k_block(layer->weights, layer->cache, (size_t)position, 1, x,
                                       layer->out, model->scratch, NULL);
        if (status != STORIES260K_OK)
            return status;
        x = layer->out;
    }
    rms_norm(x, model->final_norm, model->dim, model->x);
    multiply(model->classifier, model->x, model->vocab, model->dim, logits);
    return STORIES260K_OK;
}
