/* Two pools for the kernels under test. Both stop the test if a call asks for more tasks than the
 * pool has threads. */
#ifndef POOL_H
#define POOL_H

#include "kernel.h"

/* Each task on a thread of its own, all at once. */
struct pool threads_pool(size_t threads);

/* One after another on the caller's thread, the last first. */
struct pool reversed_pool(size_t threads);
bool pool_is_reversed(const struct pool *pool);

/* Calls work(argument) on a thread whose stack has `bytes` bytes. */
void run_on_stack(size_t bytes, void (*work)(void *argument), void *argument);

#endif
