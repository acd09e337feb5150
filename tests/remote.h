/* A kernel that runs on another machine: a `struct kernel` whose functions ask a runner
 * (foreign/runner.c), which an emulator runs. Tests cannot tell it from one of this machine. */
#ifndef REMOTE_H
#define REMOTE_H

#include "kernel.h"

/* One instruction set of one kernel, and the command that runs it: words with single spaces. */
struct foreign {
    size_t kernel; /* its native twin in the registry */
    const char *isa, *emulator, *runner;
};

/* The registry: none in the native suite. A suite that has some tests these alone. */
extern const struct foreign foreign[];
extern const size_t foreign_count;

/* NULL if it can be run here, else what is missing. In a static buffer. */
const char *foreign_lacks(const struct foreign *target);

/* Starts the runner, once in a process; ends the test if that fails, or if the runner's kernel is
 * another one than its twin. */
const struct kernel *remote_start(const struct foreign *target);

/* Ends the runner, if there is one. False if it did not close properly; then says so. */
bool remote_end(void);

#endif
