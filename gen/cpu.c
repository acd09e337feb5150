#include "cpu.h"

#if defined(__linux__) && (defined(__aarch64__) || defined(__riscv) || defined(__s390x__))
#include <sys/auxv.h>
#define HWCAP getauxval(AT_HWCAP)
#else
#define HWCAP 0
#endif

#if defined(__x86_64__)
#include <cpuid.h>

const char *cpu_arch(void) { return "x86_64"; }

size_t cpu_read(struct cpu_word words[CPU_WORDS]) {
    enum { EAX, EBX, ECX, EDX };
    unsigned basic[4] = {0}, extended[4] = {0};
    uint32_t low = 0, high = 0;
    __get_cpuid(1, &basic[EAX], &basic[EBX], &basic[ECX], &basic[EDX]);
    __get_cpuid_count(7, 0, &extended[EAX], &extended[EBX], &extended[ECX], &extended[EDX]);
    if (basic[ECX] & 1U << 27) /* OSXSAVE: xgetbv may be used */
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words[0] = (struct cpu_word){"leaf_1_ecx", basic[ECX]};
    words[1] = (struct cpu_word){"leaf_7_ebx", extended[EBX]};
    words[2] = (struct cpu_word){"xcr0", (uint64_t)high << 32 | low};
    return 3;
}

#elif defined(__aarch64__)

/* The length of a vector register with all lower bits set; 0 without SVE. */
static uint64_t vector_bytes(void) {
    uint64_t bytes = 0;
    if (HWCAP & HWCAP_SVE) /* cntb x0, of an architecture that the compiler need not know */
        __asm__ volatile(".inst 0x0420e3e0\n\tmov %0, x0" : "=r"(bytes) : : "x0");
    for (int shift = 1; shift < 64; shift *= 2)
        bytes |= bytes >> shift;
    return bytes;
}

const char *cpu_arch(void) { return "aarch64"; }

size_t cpu_read(struct cpu_word words[CPU_WORDS]) {
    words[0] = (struct cpu_word){"hwcap", HWCAP};
    words[1] = (struct cpu_word){"vector_bytes", vector_bytes()};
    return 2;
}

#elif defined(__riscv) && __riscv_xlen == 64

static uint64_t vector_bytes(void) {
    uint64_t bytes = 0;
    if (HWCAP & 1UL << ('V' - 'A'))
        __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb */
    for (int shift = 1; shift < 64; shift *= 2)
        bytes |= bytes >> shift;
    return bytes;
}

const char *cpu_arch(void) { return "riscv64"; }

size_t cpu_read(struct cpu_word words[CPU_WORDS]) {
    words[0] = (struct cpu_word){"hwcap", HWCAP};
    words[1] = (struct cpu_word){"vector_bytes", vector_bytes()};
    return 2;
}

#elif defined(__s390x__)

const char *cpu_arch(void) { return "s390x"; }

size_t cpu_read(struct cpu_word words[CPU_WORDS]) {
    words[0] = (struct cpu_word){"hwcap", HWCAP};
    return 1;
}

#else

const char *cpu_arch(void) { return "other"; }

size_t cpu_read(struct cpu_word words[CPU_WORDS]) {
    (void)words;
    return 0;
}
#endif
