/* The dispatcher's choice on CPUs that this machine is not: linked with a dispatcher that was
 * compiled with -D<NAME>_READ_CPU=simulated, for a kernel with all of x86-64's sets. */
#include "subject.h"

/* The words as templates/cpu/x86_64.t orders them: CPUID leaf 1 ecx, leaf 7 ebx, XCR0. */
static uint64_t cpu[3];

#ifdef __cplusplus
extern "C"
#endif
    void
    simulated(uint64_t *words);
void simulated(uint64_t *words) { memcpy(words, cpu, sizeof cpu); }

#define SSE42 (1u << 20)
#define FMA (1u << 12)
#define AVX (1u << 28)
#define AVX2 (1u << 5)
#define AVX512F (1u << 16)
#define AVX512DQ (1u << 17)
#define AVX512BW (1u << 30)
#define AVX512VL (1u << 31)
#define HASWELL (SSE42 | FMA | AVX)
#define SKYLAKE (AVX2 | AVX512F | AVX512DQ | AVX512BW | AVX512VL)

int main(void) {
    static const struct {
        uint64_t cpu[3];
        const char *best;
        const char *runs; /* all that may be forced */
    } cases[] = {
        {{HASWELL, SKYLAKE, 0xe7}, "avx512", " scalar_unfused scalar sse4.2 avx2 avx512 "},
        {{~0ull, ~0ull, ~0ull}, "avx512", " scalar_unfused scalar sse4.2 avx2 avx512 "},
        /* the system saves no opmask, no upper halves, no upper 16 registers, no ymm at all */
        {{HASWELL, SKYLAKE, 0xc7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE, 0xa7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE, 0x67}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE, 0x3}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        {{HASWELL, SKYLAKE, 0x5}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        {{HASWELL, SKYLAKE, 0}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        /* parts of AVX-512 alone */
        {{HASWELL, SKYLAKE & ~AVX512F, 0xe7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE & ~AVX512DQ, 0xe7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE & ~AVX512BW, 0xe7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, SKYLAKE & ~AVX512VL, 0xe7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        {{HASWELL, AVX2, 0xe7}, "avx2", " scalar_unfused scalar sse4.2 avx2 "},
        /* AVX2 without FMA or without AVX, FMA without AVX2 */
        {{SSE42 | AVX, SKYLAKE, 0xe7}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        {{SSE42 | FMA, SKYLAKE, 0xe7}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        {{HASWELL, 0, 0x7}, "sse4.2", " scalar_unfused scalar sse4.2 "},
        /* before Nehalem */
        {{0, 0, 0}, "scalar", " scalar_unfused scalar "},
        {{HASWELL & ~SSE42, SKYLAKE & ~AVX2, 0}, "scalar", " scalar_unfused scalar "},
    };
    static const char *const all[] = {"scalar_unfused", "scalar", "sse4.2", "avx2",
                                      "avx512",         "neon",   "",       "vxe"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(cpu, cases[i].cpu, sizeof cpu);
        need(KERNEL(use_isa)(NULL) == 0, "use_isa(NULL)");
        if (strcmp(KERNEL(isa)(), cases[i].best) != 0) {
            printf("case %u: %s, not %s\n", (unsigned)i, KERNEL(isa)(), cases[i].best);
            return 1;
        }
        for (size_t j = 0; j < sizeof all / sizeof *all; j++) {
            char word[32];
            snprintf(word, sizeof word, " %s ", all[j]);
            const int runs = strstr(cases[i].runs, word) != NULL;
            const int status = KERNEL(use_isa)(all[j]);
            if (status != (runs ? 0 : SIZE(ERROR_CPU)) ||
                (runs && strcmp(KERNEL(isa)(), all[j]) != 0)) {
                printf("case %u: use_isa(\"%s\") gives %d\n", (unsigned)i, all[j], status);
                return 1;
            }
        }
    }
    return 0;
}
