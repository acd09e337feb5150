/* What the bench asks of the machine: a clock, a CPU of its own, threads, and how fast the vector
 * units and the memory can be. */
#ifndef MACHINE_H
#define MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel.h"

double seconds(void);

/* ---- limits of an instruction set ---- */

struct vectors {
    const char *isa;
    size_t flops;      /* of one call of fma() */
    void (*fma)(void); /* some 50 us of nothing but independent fused multiply-adds */
    /* Loads each vector of `bytes` bytes (a multiple of 2048) once, in `streams` (1, 2, 4 or 8)
     * forward streams. */
    void (*read)(const char *from, size_t bytes, size_t streams);
};

/* NULL if the bench does not know the limits of `isa`. Call its functions only where it runs. */
const struct vectors *vectors_of(const char *isa);

/* ---- CPUs and threads ---- */

enum { CPUS = 8 };

struct machine {
    char name[96]; /* of the CPU */
    size_t cpus[CPUS];
    size_t count;       /* CPUs that this process may use, at most CPUS */
    bool first_in_line; /* under SCHED_FIFO */
};

/* Pins the calling thread to cpus[0]; asks for SCHED_FIFO, which only some may have. */
struct machine machine_take(bool first_in_line);

/* Threads that wait for work in a loop, each on a CPU of its own: for a pool whose call costs less
 * than a microsecond. Start it only for as long as it is needed. */
struct team {
    size_t count; /* the caller's thread included */
    pthread_t threads[CPUS];
    struct member {
        struct team *team;
        size_t index;
    } members[CPUS];
    atomic_uint round;
    atomic_size_t left;
    void (*task)(void *argument, size_t index);
    void *argument;
    size_t tasks;
};

void team_start(struct team *team, const struct machine *machine, size_t count);
void team_stop(struct team *team);
struct pool team_pool(struct team *team);

/* ---- code ---- */

/* Bytes of machine code of this program's functions whose names begin with <kernel>_<isa>_; 0 if it
 * has no table of symbols. */
size_t code_bytes(const char *kernel, const char *isa);

#endif
