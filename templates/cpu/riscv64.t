static void ${name}_read_cpu(uint64_t *words)
{
    uint64_t bytes;
    __asm__("csrr %0, vlenb" : "=r"(bytes));
    for (int shift = 1; shift < 64; shift *= 2)
        bytes |= bytes >> shift;
    words[${word.hwcap}] = 0; /* the build decides, not the system */
    words[${word.vector_bytes}] = bytes;
}
