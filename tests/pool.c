#include "pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    void (*task)(void *argument, size_t index);
    void *argument;
    size_t index;
};

static void need(int ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "pool: %s\n", what);
    abort();
}

static void *start(void *job) {
    const struct job *own = job;
    own->task(own->argument, own->index);
    return NULL;
}

/* `self` of both pools is the number of threads itself. */
static void run_threads(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    enum { MOST = 256 };
    struct job jobs[MOST];
    pthread_t threads[MOST];
    need(count <= (uintptr_t)self && count <= MOST, "more tasks than threads");
    for (size_t i = 0; i < count; i++) {
        jobs[i] = (struct job){task, argument, i};
        need(!pthread_create(&threads[i], NULL, start, &jobs[i]), "pthread_create");
    }
    for (size_t i = 0; i < count; i++)
        need(!pthread_join(threads[i], NULL), "pthread_join");
}

static void run_reversed(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    need(count <= (uintptr_t)self, "more tasks than threads");
    while (count--)
        task(argument, count);
}

struct pool threads_pool(size_t threads) {
    return (struct pool){(void *)(uintptr_t)threads, threads, run_threads};
}

struct pool reversed_pool(size_t threads) {
    return (struct pool){(void *)(uintptr_t)threads, threads, run_reversed};
}

bool pool_is_reversed(const struct pool *pool) { return pool->run == run_reversed; }

struct work {
    void (*work)(void *argument);
    void *argument;
};

static void *start_work(void *work) {
    const struct work *own = work;
    own->work(own->argument);
    return NULL;
}

void run_on_stack(size_t bytes, void (*work)(void *argument), void *argument) {
    struct work own = {work, argument};
    pthread_attr_t attributes;
    pthread_t thread;
    need(!pthread_attr_init(&attributes), "pthread_attr_init");
    need(!pthread_attr_setstacksize(&attributes, bytes), "pthread_attr_setstacksize");
    need(!pthread_create(&thread, &attributes, start_work, &own), "pthread_create");
    need(!pthread_join(thread, NULL), "pthread_join");
    pthread_attr_destroy(&attributes);
}
