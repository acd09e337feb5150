/* libxsmm: a kernel made for each size of product. It counts columns first, so that c = a b in rows
 * is c' = b' a' to it. */
#include <stdlib.h>

#include "peer.h"

typedef void (*kernel)(const float *a, const float *b, float *c, ...);

/* Not there if the bench was linked without the library, which Debian has as an archive only. */
extern kernel libxsmm_smmdispatch(int m, int n, int k, const int *lda, const int *ldb,
                                  const int *ldc, const float *alpha, const float *beta,
                                  const int *flags, const int *prefetch) __attribute__((weak));

struct product {
    kernel kernel;
};

static bool start(const struct peer *peer) {
    (void)peer;
    return libxsmm_smmdispatch;
}

static void *plan(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc, bool transposed,
                  bool constant) {
    const int a = (int)lda, b = (int)ldb, c = (int)ldc, prefetch = 0;
    const float one = 1, zero = 0;
    if (transposed || constant)
        return NULL;
    struct product *made = malloc(sizeof *made);
    if (made)
        made->kernel =
            libxsmm_smmdispatch((int)n, (int)m, (int)k, &b, &a, &c, &one, &zero, NULL, &prefetch);
    if (made && made->kernel)
        return made;
    free(made);
    return NULL;
}

static void multiply(void *plan, const float *a, const float *b, float *c) {
    const struct product *is = plan;
    is->kernel(b, a, c);
}

static const struct library library = {plan, multiply, free, NULL};
extern const struct peer libxsmm;
const struct peer libxsmm = {"libxsmm",    &library,    start,          compose_open,
                             COMPOSE_WAYS, compose_run, compose_result, compose_close};
