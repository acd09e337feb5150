/* OpenBLAS: cblas_sgemm, and cblas_sgemv where a product has one row. */
#include <dlfcn.h>
#include <stdlib.h>

#include "peer.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static void (*sgemm)(int order, int a_is, int b_is, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc);
static void (*sgemv)(int order, int a_is, int m, int n, float alpha, const float *a, int lda,
                     const float *x, int x_step, float beta, float *y, int y_step);

struct product {
    int m, n, k, lda, ldb, ldc;
    bool transposed;
};

static bool start(const struct peer *peer) {
    (void)peer;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&sgemv = dlsym(library, "cblas_sgemv");
    return sgemm && sgemv;
}

static void *plan(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc, bool transposed,
                  bool constant) {
    struct product *made = constant ? NULL : malloc(sizeof *made);
    if (made)
        *made = (struct product){(int)m, (int)n, (int)k, (int)lda, (int)ldb, (int)ldc, transposed};
    return made;
}

static void multiply(void *plan, const float *a, const float *b, float *c) {
    const struct product *is = plan;
    if (is->m > 1)
        sgemm(ROW_MAJOR, PLAIN, is->transposed ? TRANSPOSED : PLAIN, is->m, is->n, is->k, 1, a,
              is->lda, b, is->ldb, 0, c, is->ldc);
    else if (is->transposed)
        sgemv(ROW_MAJOR, PLAIN, is->n, is->k, 1, b, is->ldb, a, 1, 0, c, 1);
    else
        sgemv(ROW_MAJOR, TRANSPOSED, is->k, is->n, 1, b, is->ldb, a, 1, 0, c, 1);
}

static const struct library library = {plan, multiply, free, NULL};
extern const struct peer openblas;
const struct peer openblas = {"openblas",   &library,    start,          compose_open,
                              COMPOSE_WAYS, compose_run, compose_result, compose_close};
