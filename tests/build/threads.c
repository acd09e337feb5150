/* A kernel under real threads, for ThreadSanitizer: threads whose first calls choose the
 * instruction set at the same time, and a pool that runs one call's tasks at once, with the serial
 * call's bits.
 */
#include "subject.h"

#include <pthread.h>

enum { THREADS = 4, ROWS = 70 };

typedef struct job {
    void (*task)(void *argument, size_t index);
    void *argument;
    size_t index;
} job;

static void *start(void *argument) {
    job *own = (job *)argument;
    own->task(own->argument, own->index);
    return NULL;
}

static void run(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    pthread_t threads[THREADS];
    job jobs[THREADS];
    (void)self;
    need(count <= THREADS, "no more tasks than threads");
    for (size_t i = 0; i < count; i++) {
        jobs[i].task = task;
        jobs[i].argument = argument;
        jobs[i].index = i;
        need(pthread_create(&threads[i], NULL, start, &jobs[i]) == 0, "pthread_create");
    }
    for (size_t i = 0; i < count; i++)
        need(pthread_join(threads[i], NULL) == 0, "pthread_join");
}

static float *q, *k, *v, *serial[THREADS];
static void *scratch[THREADS];

static void serial_call(void *argument, size_t index) {
    (void)argument;
    need(KERNEL(attention)(q, k, v, ROWS, ROWS, serial[index], scratch[index], NULL) == 0,
         "attention");
}

int main(void) {
    const KERNEL(pool) pool = {NULL, THREADS, run};
    const size_t out_bytes = ROWS * O_ROW * sizeof(float);
    float *out = numbers(ROWS * O_ROW, 1.0f, 14);
    void *cache = aligned(SIZE(CACHE_BYTES));
    void *shared =
        aligned(SIZE(SCRATCH_BYTES_FOR)(THREADS) + SIZE(CACHE_SCRATCH_BYTES_FOR)(THREADS));
    q = numbers(ROWS * Q_ROW, 3.0f, 11);
    k = numbers(ROWS * K_ROW, 1.0f, 12);
    v = numbers(ROWS * V_ROW, 1.0f, 13);
    for (size_t i = 0; i < THREADS; i++) {
        serial[i] = numbers(ROWS * O_ROW, 1.0f, 14);
        scratch[i] = aligned(SIZE(SCRATCH_BYTES) + SIZE(CACHE_SCRATCH_BYTES));
    }
    run(NULL, serial_call, NULL, THREADS); /* no call has come before */

    need(KERNEL(attention)(q, k, v, ROWS, ROWS, out, shared, &pool) == 0, "attention");
    need(memcmp(out, serial[0], out_bytes) == 0, "attention with threads has the serial bits");
    need(KERNEL(cache_reset)(cache) == 0, "cache_reset");
    need(KERNEL(cache_append)(cache, 0, ROWS, k, v) == 0, "cache_append");
    memset(out, 0, out_bytes);
    need(KERNEL(cache_attention)(cache, 0, ROWS, q, out, shared, &pool) == 0, "cache_attention");
    need(memcmp(out, serial[1], out_bytes) == 0, "cached attention has the serial bits");
#if SIZE(HAS_LAYER)
    void *weights = packed_weights();
    float *x = numbers(ROWS * X_ROW, 1.0f, 15), *y = numbers(ROWS * X_ROW, 1.0f, 16);
    float *again = numbers(ROWS * X_ROW, 1.0f, 17);
    need(KERNEL(layer)(weights, NULL, 0, ROWS, x, y, scratch[0], NULL) == 0, "layer");
    need(KERNEL(layer)(weights, cache, 0, ROWS, x, again, shared, &pool) == 0, "layer with a pool");
    need(memcmp(y, again, ROWS * X_ROW * sizeof(float)) == 0, "layer has the serial bits");
#if SIZE(HAS_BLOCK)
    need(KERNEL(block)(weights, NULL, 0, ROWS, x, y, scratch[0], NULL) == 0, "block");
    need(KERNEL(block)(weights, cache, 0, ROWS, x, again, shared, &pool) == 0, "block with a pool");
    need(memcmp(y, again, ROWS * X_ROW * sizeof(float)) == 0, "block has the serial bits");
#endif
#endif
    return 0;
}
