#include "cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#define ARCH "x86_64"
enum { EAX, EBX, ECX, EDX };
enum { XCR0_SSE = 0x2, XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6 };

static const struct {
    const char *name;
    unsigned leaf, subleaf, reg, bit;
    uint64_t xcr0; /* register state that the system must have switched on */
} features[] = {
    {"sse2", 1, 0, EDX, 26, 0},
    {"sse4.1", 1, 0, ECX, 19, 0},
    {"fma", 1, 0, ECX, 12, XCR0_AVX},
    {"f16c", 1, 0, ECX, 29, XCR0_AVX},
    {"avx", 1, 0, ECX, 28, XCR0_AVX},
    {"avx2", 7, 0, EBX, 5, XCR0_AVX},
    {"avx512f", 7, 0, EBX, 16, XCR0_AVX512},
    {"avx512dq", 7, 0, EBX, 17, XCR0_AVX512},
    {"avx512bw", 7, 0, EBX, 30, XCR0_AVX512},
    {"avx512vl", 7, 0, EBX, 31, XCR0_AVX512},
    {"avx512vnni", 7, 0, ECX, 11, XCR0_AVX512},
    {"avx512bf16", 7, 1, EAX, 5, XCR0_AVX512},
};

bool cpu_has(const char *feature) {
    unsigned reg[4];
    uint64_t xcr0 = 0;
    if (!__get_cpuid(1, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]))
        return false;
    if (reg[ECX] & 1u << 27) { /* OSXSAVE: xgetbv may be used */
        uint32_t low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        xcr0 = (uint64_t)high << 32 | low;
    }
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (strcmp(features[i].name, feature) == 0)
            return __get_cpuid_count(features[i].leaf, features[i].subleaf, &reg[EAX], &reg[EBX],
                                     &reg[ECX], &reg[EDX]) &&
                   (reg[features[i].reg] >> features[i].bit & 1) &&
                   (xcr0 & features[i].xcr0) == features[i].xcr0;
    return false;
}

#else
#if defined(__aarch64__)
#define ARCH "aarch64"
#elif defined(__riscv)
#define ARCH "riscv64"
#elif defined(__s390x__)
#define ARCH "s390x"
#else
#define ARCH "other"
#endif

bool cpu_has(const char *feature) {
    (void)feature;
    return false;
}
#endif

bool cpu_is(const char *arch) { return strcmp(arch, "any") == 0 || strcmp(arch, ARCH) == 0; }
