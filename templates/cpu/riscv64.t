#include <riscv_vector.h>

static void ${name}_read_cpu(uint64_t *words)
{
    uint64_t bytes = __riscv_vlenb();
    for (int shift = 1; shift < 64; shift *= 2)
        bytes |= bytes >> shift;
    words[${word.hwcap}] = 0; /* the build decides, not the system */
    words[${word.vector_bytes}] = bytes;
}
