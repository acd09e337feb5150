/* What the machine that runs attnc can execute: a seam of one file for later architectures. */
#ifndef ATTNC_CPU_H
#define ATTNC_CPU_H

#include <stdbool.h>

/* Whether this machine is of the architecture ("x86_64", "aarch64", ...; "any" is always true). */
bool cpu_is(const char *arch);

/* Whether the CPU has a feature (named as compilers do in -m options: "avx2", "fma") and the
 * system keeps its registers. Unknown names are features that it does not have. */
bool cpu_has(const char *feature);

#endif
