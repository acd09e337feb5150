#if defined(__linux__)
#ifdef __cplusplus
extern "C"
#endif
unsigned long getauxval(unsigned long type); /* of every C library for Linux */
#endif
#if defined(__GNUC__) || defined(__clang__)
#include <arm_sve.h>

static __attribute__((noinline, target("+sve"))) uint64_t ${name}_vector_bytes(void)
{
    return svcntb();
}
#else
#define ${name}_vector_bytes() 0
#endif

static void ${name}_read_cpu(uint64_t *words)
{
    uint64_t bytes = 0;
#if defined(__ARM_FEATURE_SVE)
    words[${word.hwcap}] = ~(uint64_t)0; /* the whole program is built for it */
    bytes = ${name}_vector_bytes();
#elif defined(__linux__)
    words[${word.hwcap}] = getauxval(16 /* AT_HWCAP */);
    if (words[${word.hwcap}] & ${("0x%xu"):format(bits.sve.hwcap)})
        bytes = ${name}_vector_bytes();
#else
    words[${word.hwcap}] = 0;
#endif
    for (int shift = 1; shift < 64; shift *= 2)
        bytes |= bytes >> shift;
    words[${word.vector_bytes}] = bytes;
}
