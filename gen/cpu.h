/* What this machine's CPU and its operating system say of themselves. What the bits mean is
 * gen/cpu.lua's to know. */
#ifndef ATTNC_CPU_H
#define ATTNC_CPU_H

#include <stddef.h>
#include <stdint.h>

/* The architecture by its name in gen/cpu.lua, "other" if it has none there. */
const char *cpu_arch(void);

/* A word by its name in gen/cpu.lua. */
struct cpu_word {
    const char *name;
    uint64_t value;
};

/* Fills in at most CPU_WORDS words; returns how many. */
enum { CPU_WORDS = 4 };
size_t cpu_read(struct cpu_word words[CPU_WORDS]);

#endif
