/* oneDNN 2: its matmul primitive, made once for each size; weights that stay can be in the order
 * that it chooses itself. */
#include <dlfcn.h>
#include <stdlib.h>

#include "peer.h"

#if __has_include(<dnnl.h>)
#include <dnnl.h>
#endif

#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2
#define FUNCTIONS(X)                                                                               \
    X(dnnl_engine_create)                                                                          \
    X(dnnl_stream_create)                                                                          \
    X(dnnl_memory_desc_init_by_strides)                                                            \
    X(dnnl_memory_desc_init_by_tag)                                                                \
    X(dnnl_memory_create)                                                                          \
    X(dnnl_memory_destroy)                                                                         \
    X(dnnl_memory_get_data_handle)                                                                 \
    X(dnnl_memory_set_data_handle)                                                                 \
    X(dnnl_matmul_desc_init)                                                                       \
    X(dnnl_reorder_primitive_desc_create)                                                          \
    X(dnnl_primitive_desc_create)                                                                  \
    X(dnnl_primitive_desc_query_md)                                                                \
    X(dnnl_primitive_desc_destroy)                                                                 \
    X(dnnl_primitive_create)                                                                       \
    X(dnnl_primitive_execute)                                                                      \
    X(dnnl_primitive_destroy)

/* Loaded when the bench runs: types from the header, nothing to link. */
static struct {
#define POINTER(name) __typeof__(&name) name;
    FUNCTIONS(POINTER)
} api;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

struct product {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[3]; /* a, b, c */
    dnnl_memory_desc_t plain_b;
};

static bool start(const struct peer *peer) {
    (void)peer;
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
#define LOAD(name)                                                                                 \
    *(void **)&api.name = dlsym(library, #name);                                                   \
    if (!api.name)                                                                                 \
        return false;
    FUNCTIONS(LOAD)
    return api.dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
           api.dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

static void forget(void *plan) {
    struct product *is = plan;
    for (int i = 0; i < 3; i++)
        if (is->arguments[i].memory)
            api.dnnl_memory_destroy(is->arguments[i].memory);
    if (is->primitive)
        api.dnnl_primitive_destroy(is->primitive);
    if (is->description)
        api.dnnl_primitive_desc_destroy(is->description);
    free(is);
}

static bool describe(dnnl_memory_desc_t *to, size_t rows, size_t columns, size_t row_step,
                     size_t column_step) {
    const dnnl_dims_t sizes = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    const dnnl_dims_t steps = {(dnnl_dim_t)row_step, (dnnl_dim_t)column_step};
    return api.dnnl_memory_desc_init_by_strides(to, 2, sizes, dnnl_f32, steps) == dnnl_success;
}

static bool make(struct product *is, size_t m, size_t n, size_t k, size_t lda, size_t ldb,
                 size_t ldc, bool transposed, bool constant) {
    static const int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    const dnnl_dims_t sizes = {(dnnl_dim_t)k, (dnnl_dim_t)n};
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t matmul;
    bool good = describe(&a, m, k, lda, 1) && describe(&c, m, n, ldc, 1) &&
                describe(&is->plain_b, k, n, transposed ? 1 : ldb, transposed ? ldb : 1);
    b = is->plain_b;
    if (good && constant)
        good = api.dnnl_memory_desc_init_by_tag(&b, 2, sizes, dnnl_f32, dnnl_format_tag_any) ==
               dnnl_success;
    good = good && api.dnnl_matmul_desc_init(&matmul, &a, &b, NULL, &c) == dnnl_success &&
           api.dnnl_primitive_desc_create(&is->description, &matmul, NULL, engine, NULL) ==
               dnnl_success &&
           api.dnnl_primitive_create(&is->primitive, is->description) == dnnl_success;
    if (good && constant)
        b = *api.dnnl_primitive_desc_query_md(is->description, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *all[3] = {&a, &b, &c};
    for (int i = 0; good && i < 3; i++) {
        is->arguments[i].arg = names[i];
        good = api.dnnl_memory_create(&is->arguments[i].memory, all[i], engine,
                                      constant && i == 1 ? DNNL_MEMORY_ALLOCATE
                                                         : DNNL_MEMORY_NONE) == dnnl_success;
    }
    return good;
}

static void *plan(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc, bool transposed,
                  bool constant) {
    struct product *is = calloc(1, sizeof *is);
    if (is && make(is, m, n, k, lda, ldb, ldc, transposed, constant))
        return is;
    if (is)
        forget(is);
    return NULL;
}

/* Into the order that the primitive wants, kept with the plan. */
static const float *prepare(void *plan, const float *b) {
    struct product *is = plan;
    dnnl_memory_t from = NULL, to = is->arguments[1].memory;
    const dnnl_memory_desc_t *wanted =
        api.dnnl_primitive_desc_query_md(is->description, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t reorder = NULL;
    void *memory = NULL;
    if (api.dnnl_memory_create(&from, &is->plain_b, engine, (void *)b) == dnnl_success &&
        api.dnnl_reorder_primitive_desc_create(&description, &is->plain_b, engine, wanted, engine,
                                               NULL) == dnnl_success &&
        api.dnnl_primitive_create(&reorder, description) == dnnl_success) {
        const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
        if (api.dnnl_primitive_execute(reorder, stream, 2, arguments) == dnnl_success)
            api.dnnl_memory_get_data_handle(to, &memory);
    }
    if (reorder)
        api.dnnl_primitive_destroy(reorder);
    if (description)
        api.dnnl_primitive_desc_destroy(description);
    if (from)
        api.dnnl_memory_destroy(from);
    return memory;
}

static void multiply(void *plan, const float *a, const float *b, float *c) {
    struct product *is = plan;
    const void *memory[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        api.dnnl_memory_set_data_handle(is->arguments[i].memory, (void *)memory[i]);
    api.dnnl_primitive_execute(is->primitive, stream, 3, is->arguments);
}

static const struct library library = {plan, multiply, forget, prepare};
#else
static bool start(const struct peer *peer) {
    (void)peer;
    return false;
}

static const struct library library;
#endif

extern const struct peer onednn;
const struct peer onednn = {"onednn",     &library,    start,          compose_open,
                            COMPOSE_WAYS, compose_run, compose_result, compose_close};
