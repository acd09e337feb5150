#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
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

/* Threads stay for the next run, since to start them takes longer than most tasks: worker i does
 * task i, when there is one. */
enum { MOST = 256 };
static struct worker {
    struct job job;
    sem_t go;
} workers[MOST];
static size_t hired;
static sem_t done;

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore))
        need(errno == EINTR, "sem_wait");
}

static void *work_on(void *worker) {
    struct worker *own = worker;
    for (;;) {
        wait_for(&own->go);
        own->job.task(own->job.argument, own->job.index);
        need(!sem_post(&done), "sem_post");
    }
    return NULL;
}

static void hire(struct worker *worker) {
    pthread_t thread;
    need(!sem_init(&worker->go, 0, 0), "sem_init");
    need(!pthread_create(&thread, NULL, work_on, worker), "pthread_create");
}

/* `self` of both pools is the number of threads itself. No two runs at once. */
static void run_threads(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    need(count <= (uintptr_t)self && count <= MOST, "more tasks than threads");
    need(hired || !sem_init(&done, 0, 0), "sem_init");
    for (; hired < count; hired++)
        hire(&workers[hired]);
    for (size_t i = 0; i < count; i++) {
        workers[i].job = (struct job){task, argument, i};
        need(!sem_post(&workers[i].go), "sem_post");
    }
    for (size_t i = 0; i < count; i++)
        wait_for(&done);
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
