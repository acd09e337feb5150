/* ONNX Runtime, by its C API: models of one operator each, written here. The functions are found by
 * their place in the API's table, to which new ones are only ever added at the end. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* ---- a model: the messages of onnx.proto, as far as needed ---- */

struct bytes {
    unsigned char *data;
    size_t size, room;
};

static void put(struct bytes *to, const void *from, size_t size) {
    if (!size)
        return;
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size);
        to->data = realloc(to->data, to->room);
        if (!to->data)
            exit(1);
    }
    memcpy(to->data + to->size, from, size);
    to->size += size;
}

static void put_number(struct bytes *to, uint64_t number) {
    do {
        const unsigned char byte = (unsigned char)(number > 127 ? number | 128 : number);
        put(to, &byte, 1);
        number >>= 7;
    } while (number);
}

static void put_integer(struct bytes *to, unsigned field, uint64_t value) {
    put_number(to, field << 3);
    put_number(to, value);
}

static void put_block(struct bytes *to, unsigned field, const void *data, size_t size) {
    put_number(to, field << 3 | 2);
    put_number(to, size);
    put(to, data, size);
}

static void put_text(struct bytes *to, unsigned field, const char *text) {
    put_block(to, field, text, strlen(text));
}

/* Moves a message into another one. */
static void put_message(struct bytes *to, unsigned field, struct bytes *message) {
    put_block(to, field, message->data, message->size);
    free(message->data);
    *message = (struct bytes){0};
}

enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2 };
enum { FLOAT = 1, INT32 = 6 };

static void put_attribute(struct bytes *node, const char *name, int64_t integer) {
    struct bytes attribute = {0};
    put_text(&attribute, 1, name);
    put_integer(&attribute, 3, (uint64_t)integer);
    put_integer(&attribute, 20, ATTRIBUTE_INT);
    put_message(node, 5, &attribute);
}

static void put_float_attribute(struct bytes *node, const char *name, float value) {
    struct bytes attribute = {0};
    put_text(&attribute, 1, name);
    put_number(&attribute, 2 << 3 | 5);
    put(&attribute, &value, sizeof value);
    put_integer(&attribute, 20, ATTRIBUTE_FLOAT);
    put_message(node, 5, &attribute);
}

enum { DIMS = 4, TENSORS = 8 };

struct tensor {
    const char *name; /* "": an input that is left out */
    int type;
    int64_t shape[DIMS];
    size_t dims;
    void *data;
    bool constant; /* part of the model */
};

static size_t elements(const struct tensor *tensor) {
    size_t count = 1;
    for (size_t i = 0; i < tensor->dims; i++)
        count *= (size_t)tensor->shape[i];
    return count;
}

static void put_tensor(struct bytes *graph, unsigned field, const struct tensor *tensor) {
    struct bytes shape = {0}, type = {0}, any = {0}, value = {0};
    for (size_t i = 0; i < tensor->dims; i++) {
        struct bytes dim = {0};
        put_integer(&dim, 1, (uint64_t)tensor->shape[i]);
        put_message(&shape, 1, &dim);
    }
    put_integer(&type, 1, (uint64_t)tensor->type);
    put_message(&type, 2, &shape);
    put_message(&any, 1, &type);
    put_text(&value, 1, tensor->name);
    put_message(&value, 2, &any);
    put_message(graph, field, &value);
}

static void put_constant(struct bytes *graph, const struct tensor *tensor) {
    struct bytes constant = {0};
    for (size_t i = 0; i < tensor->dims; i++)
        put_integer(&constant, 1, (uint64_t)tensor->shape[i]);
    put_integer(&constant, 2, (uint64_t)tensor->type);
    put_text(&constant, 8, tensor->name);
    put_block(&constant, 9, tensor->data, elements(tensor) * sizeof(float));
    put_message(graph, 5, &constant);
}

struct model {
    const char *operation, *domain;
    struct tensor in[TENSORS], out[TENSORS];
    size_t ins, outs;
    struct bytes attributes; /* of the node, as fields */
};

static struct bytes write_model(struct model *model) {
    struct bytes node = {0}, graph = {0}, standard = {0}, extra = {0}, all = {0};
    for (size_t i = 0; i < model->ins; i++)
        put_text(&node, 1, model->in[i].name);
    for (size_t i = 0; i < model->outs; i++)
        put_text(&node, 2, model->out[i].name);
    put_text(&node, 4, model->operation);
    put(&node, model->attributes.data, model->attributes.size);
    put_text(&node, 7, model->domain);
    put_message(&graph, 1, &node);
    put_text(&graph, 2, "bench");
    for (size_t i = 0; i < model->ins; i++)
        if (model->in[i].constant)
            put_constant(&graph, &model->in[i]);
        else if (*model->in[i].name)
            put_tensor(&graph, 11, &model->in[i]);
    for (size_t i = 0; i < model->outs; i++)
        put_tensor(&graph, 12, &model->out[i]);
    put_integer(&all, 1, 10); /* version of the format */
    put_message(&all, 7, &graph);
    put_text(&standard, 1, "");
    put_integer(&standard, 2, 23);
    put_message(&all, 8, &standard);
    put_text(&extra, 1, "com.microsoft");
    put_integer(&extra, 2, 1);
    put_message(&all, 8, &extra);
    return all;
}

/* ---- the API ---- */

enum place {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_GRAPH_OPTIMIZATION_LEVEL = 23,
    SET_INTRA_OP_NUM_THREADS = 24,
    SET_INTER_OP_NUM_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_STATUS = 93,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
};

typedef void function(void);
static function *const *api;
static void *environment, *options, *memory_info;

#define CALL(place, ...) ((void *(*)__VA_ARGS__)api[place])

/* Whether a call went well; a message is printed, not kept. */
static bool good(void *status) {
    if (status) {
        if (getenv("BENCH_PEER_MESSAGES"))
            fprintf(stderr, "onnxruntime: %s\n",
                    ((const char *(*)(const void *))api[GET_ERROR_MESSAGE])(status));
        ((void (*)(void *))api[RELEASE_STATUS])(status);
    }
    return !status;
}

static bool start(const struct peer *peer) {
    enum { VERSION = 16, LOG_FATAL = 4, OPTIMIZE_ALL = 99, ARENA = 1, DEFAULT_MEMORY = 0 };
    struct base {
        function *const *(*get)(uint32_t version);
        const char *(*version)(void);
    };
    const struct base *(*get_base)(void);
    const char *path = getenv("BENCH_ONNXRUNTIME");
    (void)peer;
    if (api)
        return true;
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return false;
    *(void **)&get_base = dlsym(library, "OrtGetApiBase");
    api = get_base ? get_base()->get(VERSION) : NULL;
    return api &&
           good(CALL(CREATE_ENV, (int, const char *, void **))(LOG_FATAL, "bench", &environment)) &&
           good(CALL(CREATE_SESSION_OPTIONS, (void **))(&options)) &&
           good(CALL(SET_INTRA_OP_NUM_THREADS, (void *, int))(options, 1)) &&
           good(CALL(SET_INTER_OP_NUM_THREADS, (void *, int))(options, 1)) &&
           good(CALL(SET_GRAPH_OPTIMIZATION_LEVEL, (void *, int))(options, OPTIMIZE_ALL)) &&
           good(CALL(CREATE_CPU_MEMORY_INFO, (int, int, void **))(ARENA, DEFAULT_MEMORY,
                                                                  &memory_info));
}

/* ---- one operator on one case ---- */

struct session {
    struct peer_case what;
    struct model model;
    void *session;
    const char *names_in[TENSORS], *names_out[TENSORS];
    void *values_in[TENSORS], *values_out[TENSORS];
    size_t ins;   /* without what is left out or constant */
    bool by_head; /* the result is [heads][n][v_head_dim] */
    void *owned[2 * TENSORS];
    size_t owned_count;
};

static void *own(struct session *is, void *memory) { return is->owned[is->owned_count++] = memory; }

/* [n][heads][width] to [repeat * heads][n][width], each head repeated. */
static float *by_head(struct session *is, const float *from, size_t n, size_t heads, size_t width) {
    float *to = own(is, peer_room(n * heads * width * sizeof *to));
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            memcpy(to + (h * n + i) * width, from + (i * heads + h) * width, width * sizeof *to);
    return to;
}

static float *repeated(struct session *is, const float *from, size_t n, size_t heads,
                       size_t to_heads, size_t width) {
    float *to = own(is, peer_room(n * to_heads * width * sizeof *to));
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < to_heads; h++)
            memcpy(to + (i * to_heads + h) * width,
                   from + (i * heads + h * heads / to_heads) * width, width * sizeof *to);
    return to;
}

static struct tensor *add(struct tensor *list, size_t *count, const char *name, int type,
                          void *data, size_t a, size_t b, size_t c, size_t d) {
    struct tensor *made = &list[(*count)++];
    const size_t shape[DIMS] = {a, b, c, d};
    *made = (struct tensor){.name = name, .type = type, .data = data};
    for (size_t i = 0; i < DIMS && shape[i]; i++)
        made->shape[made->dims++] = (int64_t)shape[i];
    return made;
}

static void add_in(struct session *is, const char *name, const void *data, size_t b, size_t c,
                   size_t d) {
    add(is->model.in, &is->model.ins, name, FLOAT, (void *)data, 1, b, c, d);
}

static void add_out(struct session *is, const char *name, void *data, size_t b, size_t c,
                    size_t d) {
    struct tensor *made = add(is->model.out, &is->model.outs, name, FLOAT, data, 1, b, c, d);
    if (!data)
        made->data = own(is, peer_room(elements(made) * sizeof(float)));
}

/* com.microsoft's MultiHeadAttention knows no groups: keys and values are repeated. */
static bool multi_head(struct session *is, size_t way) {
    const struct peer_case *what = &is->what;
    const size_t h = what->heads, hd = what->head_dim, dv = what->v_head_dim, n = what->n_kv;
    if (way || !what->q || (what->causal && what->n_q != n && what->n_q > 1))
        return false;
    const bool same = what->heads == what->kv_heads;
    add_in(is, "q", what->q, what->n_q, h * hd, 0);
    add_in(is, "k", same ? what->k : repeated(is, what->k, n, what->kv_heads, h, hd), n, h * hd, 0);
    add_in(is, "v", same ? what->v : repeated(is, what->v, n, what->kv_heads, h, dv), n, h * dv, 0);
    add_out(is, "o", NULL, what->n_q, h * dv, 0);
    is->model.operation = "MultiHeadAttention";
    is->model.domain = "com.microsoft";
    put_attribute(&is->model.attributes, "num_heads", (int64_t)h);
    put_attribute(&is->model.attributes, "unidirectional", what->causal && what->n_q > 1);
    put_float_attribute(&is->model.attributes, "scale", what->scale);
    return true;
}

/* The standard's Attention, on heads or on rows. */
static bool attention(struct session *is, size_t way) {
    const struct peer_case *what = &is->what;
    const size_t h = what->heads, kv = what->kv_heads, hd = what->head_dim, dv = what->v_head_dim;
    const size_t n = what->n_kv, n_q = what->n_q;
    if (way > 1 || !what->q || (what->causal && n_q != n && n_q > 1))
        return false;
    is->by_head = way == 0;
    if (is->by_head) {
        add_in(is, "q", by_head(is, what->q, n_q, h, hd), h, n_q, hd);
        add_in(is, "k", by_head(is, what->k, n, kv, hd), kv, n, hd);
        add_in(is, "v", by_head(is, what->v, n, kv, dv), kv, n, dv);
        add_out(is, "o", NULL, h, n_q, dv);
    } else {
        add_in(is, "q", what->q, n_q, h * hd, 0);
        add_in(is, "k", what->k, n, kv * hd, 0);
        add_in(is, "v", what->v, n, kv * dv, 0);
        add_out(is, "o", NULL, n_q, h * dv, 0);
        put_attribute(&is->model.attributes, "q_num_heads", (int64_t)h);
        put_attribute(&is->model.attributes, "kv_num_heads", (int64_t)kv);
    }
    is->model.operation = "Attention";
    is->model.domain = "";
    put_attribute(&is->model.attributes, "is_causal", what->causal && n_q > 1);
    put_float_attribute(&is->model.attributes, "scale", what->scale);
    return true;
}

/* com.microsoft's GroupQueryAttention: causal; one more token is appended to its cache, which it is
 * given as past and as present. */
static bool group_query(struct session *is, size_t way) {
    const struct peer_case *what = &is->what;
    const size_t h = what->heads, kv = what->kv_heads, hd = what->head_dim, n = what->n_kv;
    const size_t n_q = what->n_q, first = n - n_q;
    const bool decodes = n_q == 1 && n > 1;
    if (way || !what->q || !what->causal || hd != what->v_head_dim || (n_q != n && !decodes))
        return false;
    int32_t *counts = own(is, peer_room(2 * sizeof *counts));
    counts[0] = (int32_t)n - 1;
    counts[1] = (int32_t)n;
    add_in(is, "q", what->q, n_q, h * hd, 0);
    add_in(is, "k", what->k + first * kv * hd, n_q, kv * hd, 0);
    add_in(is, "v", what->v + first * kv * hd, n_q, kv * hd, 0);
    float *k = decodes ? by_head(is, what->k, n, kv, hd) : NULL;
    float *v = decodes ? by_head(is, what->v, n, kv, hd) : NULL;
    add_in(is, decodes ? "past_k" : "", k, kv, n, hd);
    add_in(is, decodes ? "past_v" : "", v, kv, n, hd);
    add(is->model.in, &is->model.ins, "seqlens_k", INT32, &counts[0], 1, 0, 0, 0);
    add(is->model.in, &is->model.ins, "total", INT32, &counts[1], 1, 0, 0, 0);
    add_out(is, "o", NULL, n_q, h * hd, 0);
    add_out(is, "present_k", k, kv, n, hd);
    add_out(is, "present_v", v, kv, n, hd);
    is->model.operation = "GroupQueryAttention";
    is->model.domain = "com.microsoft";
    put_attribute(&is->model.attributes, "num_heads", (int64_t)h);
    put_attribute(&is->model.attributes, "kv_num_heads", (int64_t)kv);
    put_float_attribute(&is->model.attributes, "scale", what->scale);
    return true;
}

/* Its weights are part of the model, so that it may order them as it likes. */
static bool matrix_product(struct session *is, size_t way) {
    const struct peer_case *what = &is->what;
    if (way || what->q)
        return false;
    add_in(is, "x", what->x, what->rows, what->depth, 0);
    add(is->model.in, &is->model.ins, "w", FLOAT, (void *)what->w, what->depth, what->columns, 0, 0)
        ->constant = true;
    add_out(is, "y", NULL, what->rows, what->columns, 0);
    is->model.operation = "MatMul";
    is->model.domain = "";
    return true;
}

static void *value_of(const struct tensor *tensor) {
    void *made = NULL;
    const bool done = good(
        CALL(CREATE_TENSOR_WITH_DATA, (const void *, void *, size_t, const int64_t *, size_t, int,
                                       void **))(memory_info, tensor->data, elements(tensor) * 4,
                                                 tensor->shape, tensor->dims, tensor->type, &made));
    return done ? made : NULL;
}

static void run(void *self) {
    struct session *is = self;
    typedef void *run_function(void *, const void *, const char *const *, const void *const *,
                               size_t, const char *const *, size_t, void **);
    if (!good(((run_function *)api[RUN])(is->session, NULL, is->names_in,
                                         (const void *const *)is->values_in, is->ins, is->names_out,
                                         is->model.outs, is->values_out))) {
        fprintf(stderr, "bench: onnxruntime fails in %s\n", is->model.operation);
        exit(1);
    }
}

static void close_session(void *self) {
    struct session *is = self;
    for (size_t i = 0; i < TENSORS; i++) {
        if (is->values_in[i])
            ((void (*)(void *))api[RELEASE_VALUE])(is->values_in[i]);
        if (is->values_out[i])
            ((void (*)(void *))api[RELEASE_VALUE])(is->values_out[i]);
    }
    if (is->session)
        ((void (*)(void *))api[RELEASE_SESSION])(is->session);
    for (size_t i = 0; i < is->owned_count; i++)
        free(is->owned[i]);
    free(is->model.attributes.data);
    free(is);
}

static bool prepare(struct session *is) {
    struct bytes model = write_model(&is->model);
    const bool made = good(CALL(CREATE_SESSION_FROM_ARRAY,
                                (const void *, const void *, size_t, const void *, void **))(
        environment, model.data, model.size, options, &is->session));
    free(model.data);
    for (size_t i = 0; made && i < is->model.ins; i++) {
        const struct tensor *tensor = &is->model.in[i];
        if (tensor->constant || !*tensor->name)
            continue;
        is->names_in[is->ins] = tensor->name;
        if (!(is->values_in[is->ins++] = value_of(tensor)))
            return false;
    }
    for (size_t i = 0; made && i < is->model.outs; i++) {
        is->names_out[i] = is->model.out[i].name;
        if (!(is->values_out[i] = value_of(&is->model.out[i])))
            return false;
    }
    return made;
}

typedef bool describe(struct session *is, size_t way);

struct operation {
    describe *describe;
};

static void *open_session(const struct peer *peer, const struct peer_case *what, size_t way) {
    const struct operation *operation = peer->own;
    struct session *is = calloc(1, sizeof *is);
    if (!is)
        return NULL;
    is->what = *what;
    if (operation->describe(is, way) && prepare(is))
        return is;
    close_session(is);
    return NULL;
}

static void result(void *self, float *out) {
    const struct session *is = self;
    const struct peer_case *what = &is->what;
    const float *from = is->model.out[0].data;
    if (!is->by_head) {
        memcpy(out, from, elements(&is->model.out[0]) * sizeof *out);
        return;
    }
    for (size_t h = 0; h < what->heads; h++)
        for (size_t i = 0; i < what->n_q; i++)
            memcpy(out + (i * what->heads + h) * what->v_head_dim,
                   from + (h * what->n_q + i) * what->v_head_dim, what->v_head_dim * sizeof *out);
}

static const struct operation of_heads = {multi_head}, of_standard = {attention},
                              of_groups = {group_query}, of_matrices = {matrix_product};

#define PEER(id, name, operation)                                                                  \
    extern const struct peer id;                                                                   \
    const struct peer id = {name, &operation, start, open_session, 2, run, result, close_session}
PEER(ort_mha, "ort_mha", of_heads);
PEER(ort_attention, "ort_attn", of_standard);
PEER(ort_gqa, "ort_gqa", of_groups);
PEER(ort_matmul, "ort_matm", of_matrices);
