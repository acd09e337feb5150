/* Memory of exactly so many bytes beside pages that must not be touched: one byte too far is a
 * crash, not luck. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum place {
    AT_END,   /* the last byte is the last before a guard page */
    AT_START, /* the first byte is the first after a guard page */
    SHIFTED,  /* 4 bytes past AT_START: aligned as a float, not as a vector */
};

/* `bytes` bytes of zeros. Never NULL; a test that asks for too much ends. */
void *guard_new(size_t bytes, enum place place);

/* Everything made since `mark` was taken goes. */
size_t guard_mark(void);
void guard_release(size_t mark);

/* While frozen, a write to the buffer is a crash. */
void guard_freeze(const void *buffer);
void guard_thaw(const void *buffer);
bool guard_is_frozen(const void *buffer);

#endif
