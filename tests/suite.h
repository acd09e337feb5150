/* What all test files share: the tests' parameters, comparing, and the closing lines. */
#ifndef SUITE_H
#define SUITE_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "kernel.h"
#include "reference.h"

/* A kernel and one of its instruction sets, by number: Criterion copies parameters from process to
 * process, where addresses differ. On another machine (remote.h), `isa` counts `foreign`. */
struct target {
    size_t kernel, isa;
};
enum { EVERY_ISA = 1000 }; /* all that this CPU runs, one after the other */

/* Each kernel that `applies` (NULL: all) with every instruction set of it that this CPU runs, or
 * with each that an emulator runs; or just once, on this machine. */
struct criterion_test_params each_target(bool (*applies)(const struct kernel *kernel));
struct criterion_test_params each_kernel(bool (*applies)(const struct kernel *kernel));

/* EACH(target, suite, name, applies) { ... uses `target` ... }: the body runs for each instruction
 * set, in one process for all of a kernel. */
#define EACH(what, suite, name, applies)                                                           \
    static void turn_of_##suite##_##name(const struct target *target);                             \
    ParameterizedTestParameters(suite, name) { return each_##what(applies); }                      \
    ParameterizedTest(struct target *targets, suite, name, .timeout = 600, .fini = end_of_test) {  \
        take_turns(targets, turn_of_##suite##_##name);                                             \
    }                                                                                              \
    static void turn_of_##suite##_##name(const struct target *target)

void take_turns(const struct target *targets, void (*turn)(const struct target *target));

/* Room for what must come out in case `id` of a test: the same for all instruction sets of a kernel
 * that have a fused multiply-add, or have none. *known: an earlier one's turn has filled it. */
void *expected(const struct kernel *kernel, size_t id, size_t bytes, bool *known);

/* After each test: a kernel on another machine must close properly. */
void end_of_test(void);

bool has_layer(const struct kernel *kernel);
bool has_block(const struct kernel *kernel);
bool has_rope(const struct kernel *kernel);
bool has_bare_rope(const struct kernel *kernel); /* without a norm, of whole heads */
bool switches(const struct kernel *kernel);
/* key_in_cache of problem.h can look at the keys: after a rope alone, after a norm */
bool shows_turned_keys(const struct kernel *kernel);
bool shows_normed_keys(const struct kernel *kernel);

/* The target's kernel, with its instruction set in use. */
const struct kernel *selected(const struct target *target);

/* A kernel of the registry on this machine, on its first instruction set with or without a fused
 * multiply-add; NULL if it has none. */
const struct kernel *native(size_t index, bool fused);

/* Id `index` of the kernel's instruction sets in `id`, or false. */
enum { ID_SIZE = 32 };
bool isa_id(const struct kernel *kernel, size_t index, char id[ID_SIZE]);

/* NULL if this CPU runs the instruction set, else what it lacks: found without the kernel. */
const char *cpu_lacks(const char *isa);

/* "kernel isa": how messages begin. In a static buffer. */
const char *label(const struct kernel *kernel);

/* Ends the test unless `got` stands up to the reference, and notes how much of the bound it used.
 */
void expect_bounded(const struct kernel *kernel, const char *what, size_t n, const float *got,
                    const struct bounded *want, size_t count);

/* Ends the test unless the bits are equal; NaNs are equal to each other. */
void expect_same(const struct kernel *kernel, const char *what, size_t n, const float *got,
                 const float *want, size_t count);
bool same_float(float a, float b);

#endif
