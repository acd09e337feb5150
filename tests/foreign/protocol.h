/* What the suite (../remote.c) and a runner (runner.c) say to each other through two pipes.
 *
 * Numbers are 64 bits, the least significant byte first; floats of inputs and results are 4 bytes,
 * likewise. The runner begins with its kernel's description (description() in runner.c). Then each
 * request is a number of `enum request` and what it takes, answered before the next one:
 *
 *   USE_ISA            a text -> a status
 *   ISA                -> a text
 *   SCRATCH_BYTES, CACHE_SCRATCH_BYTES   threads -> bytes
 *   a call             enum control, buffers, then the arguments -> a status, then what
 *                      changed in the buffers
 *   END                -> CLOSING, and the runner ends with status 0
 *
 * A buffer is: kind, address in the suite, bytes, flags, then bytes if they FOLLOW; the runner puts
 * it at the same place in a page. Of a SCRATCH only the byte that fills it is sent. MEMORY (caches,
 * packed weights) is kept for later calls under its address and size: the latest KEPT ones of both
 * sides, where a new one displaces the oldest. A pointer among the arguments is a
 * buffer's number from 1 on, or 0 for NULL. A pool is 0, or 1, threads, whether tasks run reversed,
 * whether `run` is there. What changed: buffer's number from 1 on, offset, bytes; 0 at the end. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum request {
    END,
    USE_ISA,
    ISA,
    SCRATCH_BYTES,
    CACHE_SCRATCH_BYTES,
    ATTENTION, /* q, k, v, n_q, n_kv, extras, out, scratch, pool */
    CACHE_RESET,
    CACHE_RESET_LONG,
    CACHE_APPEND,
    CACHE_ATTENTION,
    MERGE,        /* out, lse, other, other_lse, n */
    PACK_WEIGHTS, /* the arrays, whether there is a source; weights */
    LAYER,
    SOURCE,             /* weights, cache, pos, n, x, scratch, pool */
    PACK_BLOCK_WEIGHTS, /* the attention's arrays, the block's, whether there is a source; weights
                         */
    BLOCK_CALL,         /* as LAYER */
    REQUESTS
};
enum control { ROUND_UPWARDS = 1, ZERO_SUBNORMALS = 2 }; /* as far as a machine has it */
enum buffer_kind { FLOATS, BYTES, MEMORY, SCRATCH };
enum buffer_flag { FROZEN = 1, FOLLOW = 2 };
enum { BUFFERS = 40, PLACE = 4096, TEXT = 256, KEPT = 16 };
#define CLOSING "all requests answered"

/* Called where the other side has gone. */
static void protocol_broken(void);

static inline void put_bytes(FILE *to, const void *bytes, size_t count) {
    if (count && fwrite(bytes, 1, count, to) != count)
        protocol_broken();
}

static inline void get_bytes(FILE *from, void *bytes, size_t count) {
    if (count && fread(bytes, 1, count, from) != count)
        protocol_broken();
}

static inline void put_number(FILE *to, uint64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    put_bytes(to, bytes, sizeof bytes);
}

static inline uint64_t get_number(FILE *from) {
    unsigned char bytes[8];
    uint64_t number = 0;
    get_bytes(from, bytes, sizeof bytes);
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static inline void put_real(FILE *to, double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    put_number(to, bits);
}

static inline double get_real(FILE *from) {
    const uint64_t bits = get_number(from);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* At most TEXT - 1 bytes. */
static inline void put_text(FILE *to, const char *text) {
    put_number(to, strlen(text));
    put_bytes(to, text, strlen(text));
}

static inline void get_text(FILE *from, char text[TEXT]) {
    const uint64_t size = get_number(from);
    if (size >= TEXT)
        protocol_broken();
    get_bytes(from, text, size);
    text[size] = 0;
}

#endif
