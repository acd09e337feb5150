/* Writes what a kernel computes to files, `bits ISA FILE ...`, to be compared byte by byte among
 * compilers, flags and instruction sets. An instruction set that this CPU lacks leaves its file
 * empty. */
#include "subject.h"

static void write_row(FILE *file, const float *data, size_t count) {
    need(fwrite(data, sizeof *data, count, file) == count, "writing the file");
}

static void dump(FILE *file) {
    const size_t capacity = SIZE(CAPACITY), most = capacity < 530 ? capacity : 530;
    const size_t n = SIZE(EXACT) ? capacity : most, queries = SIZE(EXACT) ? capacity : 7;
    float *q = numbers(n * Q_ROW, 3.0f, 11), *k = numbers(n * K_ROW, 1.0f, 12);
    float *v = numbers(n * V_ROW, 1.0f, 13), *out = numbers(n * O_ROW, 1.0f, 14);
    void *scratch = aligned(SIZE(SCRATCH_BYTES) + SIZE(CACHE_SCRATCH_BYTES));
    void *cache = aligned(SIZE(CACHE_BYTES));
    need(KERNEL(attention)(q, k, v, queries, n, out, scratch, NULL) == 0, "attention");
    write_row(file, out, queries * O_ROW);
    need(KERNEL(cache_reset)(cache) == 0, "cache_reset");
    need(KERNEL(cache_append)(cache, 0, n, k, v) == 0, "cache_append");
    need(KERNEL(cache_attention)(cache, 3, 39, q, out, scratch, NULL) == 0, "prefill");
    write_row(file, out, 39 * O_ROW);
    for (size_t at = n - 3; at < n; at++) {
        need(KERNEL(cache_attention)(cache, at, 1, q, out, scratch, NULL) == 0, "decode");
        write_row(file, out, O_ROW);
    }
#if SIZE(HAS_LAYER)
    void *weights = packed_weights();
    const size_t rows = SIZE(EXACT) ? capacity : 21;
    float *x = numbers(rows * X_ROW, 1.0f, 15), *y = numbers(rows * X_ROW, 1.0f, 16);
    need(KERNEL(layer)(weights, NULL, 0, rows, x, y, scratch, NULL) == 0, "layer");
    write_row(file, y, rows * X_ROW);
    need(KERNEL(layer)(weights, cache, n - 2, 2, x, y, scratch, NULL) == 0, "layer with a cache");
    write_row(file, y, 2 * X_ROW);
#if SIZE(HAS_BLOCK)
    need(KERNEL(block)(weights, NULL, 0, rows, x, y, scratch, NULL) == 0, "block");
    write_row(file, y, rows * X_ROW);
#endif
#endif
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        FILE *file = fopen(argv[i + 1], "wb");
        need(file != NULL, "opening the file");
        if (KERNEL(use_isa)(argv[i]) == 0)
            dump(file);
        need(fclose(file) == 0, "closing the file");
    }
    return 0;
}
