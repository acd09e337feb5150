#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#else
#include <cpuid.h>
#endif

/* Registers eax, ebx, ecx, edx of a CPUID leaf; zeros if there is no such leaf. */
static void ${name}_cpuid(unsigned leaf, unsigned subleaf, unsigned out[4])
{
#if defined(_MSC_VER) && !defined(__clang__)
    int registers[4];
    __cpuid(registers, 0);
    if ((unsigned)registers[0] < leaf)
        memset(registers, 0, sizeof registers);
    else
        __cpuidex(registers, (int)leaf, (int)subleaf);
    memcpy(out, registers, sizeof registers);
#else
    if (!__get_cpuid_count(leaf, subleaf, out, out + 1, out + 2, out + 3))
        memset(out, 0, 4 * sizeof *out);
#endif
}

static void ${name}_read_cpu(uint64_t *words)
{
    unsigned leaf[4];
    ${name}_cpuid(7, 0, leaf);
    words[${word.leaf_7_ebx}] = leaf[1];
    ${name}_cpuid(1, 0, leaf);
    words[${word.leaf_1_ecx}] = leaf[2];
    words[${word.xcr0}] = 0;
    if (leaf[2] >> 27 & 1u) { /* OSXSAVE: the system says which registers it saves */
#if defined(_MSC_VER) && !defined(__clang__)
        words[${word.xcr0}] = _xgetbv(0);
#else
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        words[${word.xcr0}] = (uint64_t)high << 32 | low;
#endif
    }
}
