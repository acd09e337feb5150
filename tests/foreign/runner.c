/* A kernel on its own machine, at the service of the suite: protocol.h. Linked with one descriptor
 * of describe.inc, which KERNEL names. Every buffer lies against pages that must not be touched,
 * and what a call may not write is read-only; where there are no pages (WebAssembly), it is
 * compared. */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#include "protocol.h"

#include <fenv.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "kernel.h"

#if defined(__wasi__)
#define PAGES 0
#else
#define PAGES 1
#include <sys/mman.h>

#include "pool.h"
#endif

extern const struct kernel KERNEL;
static const struct kernel *const kernel = &KERNEL;

static void fail(const char *what) {
    fprintf(stderr, "runner of %s: %s\n", kernel->name, what);
    exit(1);
}

static void protocol_broken(void) { fail("the suite has gone"); }

/* The suite's sizes may be larger than this machine can name. */
static size_t get_size(void) {
    const uint64_t number = get_number(stdin);
    return number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* ---- buffers ---- */

struct buffer {
    uint64_t kind, address, flags;
    size_t bytes;
    unsigned char *base, *data, *before; /* the mapping; the buffer in it; what it held */
    size_t whole;                        /* bytes of the mapping */
};

static struct buffer kept[KEPT];
static size_t kept_count;

static void map(struct buffer *buffer) {
    const size_t at = buffer->address % PLACE;
    const size_t inner = (at + buffer->bytes + PLACE - 1) / PLACE * PLACE;
    buffer->whole = inner + 2 * PLACE;
#if PAGES
    void *base = mmap(NULL, buffer->whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || (inner && mprotect((char *)base + PLACE, inner, 3)))
        fail("out of memory");
    buffer->base = base;
#else
    buffer->base = aligned_alloc(PLACE, buffer->whole);
    if (!buffer->base)
        fail("out of memory");
    memset(buffer->base, 0xa5, buffer->whole);
#endif
    buffer->data = buffer->base + PLACE + at;
    buffer->before = malloc(buffer->bytes + 1);
    if (!buffer->before)
        fail("out of memory");
    memset(buffer->data, 0, buffer->bytes);
}

static void unmap(struct buffer *buffer) {
#if PAGES
    munmap(buffer->base, buffer->whole);
#else
    free(buffer->base);
#endif
    free(buffer->before);
}

/* Whether a call may write it. */
static void set_writable(const struct buffer *buffer, bool writable) {
#if PAGES
    if (buffer->whole > 2 * PLACE)
        mprotect(buffer->base + PLACE, buffer->whole - 2 * PLACE,
                 writable ? PROT_READ | PROT_WRITE : PROT_READ);
#else
    const unsigned char *const end = buffer->base + buffer->whole;
    if (!writable)
        return;
    for (const unsigned char *at = buffer->base; at < end; at++)
        if (at == buffer->data && buffer->bytes)
            at += buffer->bytes - 1;
        else if (*at != 0xa5)
            fail("a call wrote beside its buffer");
    if (buffer->flags & FROZEN && buffer->kind != SCRATCH &&
        memcmp(buffer->data, buffer->before, buffer->bytes) != 0)
        fail("a call wrote what it may only read");
#endif
}

/* Floats change the order of their bytes where this machine's is the other one. */
static void swap_floats(unsigned char *data, size_t bytes) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    for (size_t i = 0; !first && i + 4 <= bytes; i += 4) {
        const unsigned char old[4] = {data[i], data[i + 1], data[i + 2], data[i + 3]};
        for (size_t j = 0; j < 4; j++)
            data[i + j] = old[3 - j];
    }
}

static struct buffer *find_kept(const struct buffer *wanted) {
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i].address == wanted->address && kept[i].bytes == wanted->bytes)
            return &kept[i];
    return NULL;
}

static void keep(const struct buffer *buffer) {
    if (kept_count == KEPT) {
        unmap(&kept[0]);
        memmove(kept, kept + 1, --kept_count * sizeof *kept);
    }
    kept[kept_count++] = *buffer;
}

static void get_buffer(struct buffer *buffer) {
    buffer->kind = get_number(stdin);
    buffer->address = get_number(stdin);
    buffer->bytes = get_size();
    buffer->flags = get_number(stdin);
    const struct buffer *old = buffer->kind == MEMORY ? find_kept(buffer) : NULL;
    if (old) {
        const uint64_t flags = buffer->flags;
        *buffer = *old;
        buffer->flags = flags;
    } else {
        map(buffer);
        if (buffer->kind == MEMORY)
            keep(buffer);
    }
    if (buffer->kind == SCRATCH) {
        memset(buffer->data, (int)get_number(stdin), buffer->bytes);
    } else if (buffer->flags & FOLLOW) {
        get_bytes(stdin, buffer->data, buffer->bytes);
        if (buffer->kind == FLOATS)
            swap_floats(buffer->data, buffer->bytes);
    }
    /* what was kept is as put_changes left it */
    if (buffer->kind != SCRATCH && (!old || buffer->flags & FOLLOW))
        memcpy(buffer->before, buffer->data, buffer->bytes);
    set_writable(buffer, !(buffer->flags & FROZEN));
}

/* Sends the stretches that differ from what the buffer held. */
static void put_changes(struct buffer *buffer, uint64_t number) {
    enum { STEP = 256 };
    for (size_t from = 0; from < buffer->bytes; from += STEP) {
        size_t end = from;
        while (end < buffer->bytes) {
            const size_t step = buffer->bytes - end < STEP ? buffer->bytes - end : STEP;
            if (memcmp(buffer->data + end, buffer->before + end, step) == 0)
                break;
            end += step;
        }
        if (end == from)
            continue;
        put_number(stdout, number);
        put_number(stdout, from);
        put_number(stdout, end - from);
        memcpy(buffer->before + from, buffer->data + from, end - from);
        if (buffer->kind == FLOATS)
            swap_floats(buffer->before + from, end - from);
        put_bytes(stdout, buffer->before + from, end - from);
        from = end;
    }
}

static struct buffer buffers[BUFFERS];
static size_t buffer_count;

static void *get_pointer(void) {
    const uint64_t number = get_number(stdin);
    if (number > buffer_count)
        fail("a pointer to no buffer");
    return number ? buffers[number - 1].data : NULL;
}

/* ---- pools ---- */

#if !PAGES /* no threads either */
static void run_in_order(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

static void run_reversed(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    (void)self;
    while (count--)
        task(argument, count);
}
#endif

static const struct pool *get_pool(struct pool *pool) {
    if (!get_number(stdin))
        return NULL;
    const size_t threads = get_size();
    const bool reversed = get_number(stdin);
#if PAGES
    /* Emulators keep the memory of threads that have ended: so many are enough. */
    enum { MOST = 64 };
    static size_t started;
    const bool real = !reversed && started + threads <= MOST;
    started += real ? threads : 0;
    *pool = real ? threads_pool(threads) : reversed_pool(threads);
#else
    *pool = (struct pool){NULL, threads, reversed ? run_reversed : run_in_order};
#endif
    if (!get_number(stdin))
        pool->run = NULL;
    return pool;
}

/* ---- requests ---- */

/* Both are so many pointers and nothing else. */
static struct weights get_weights(void) {
    struct weights made = {0};
    for (size_t i = 0; i < ARRAYS; i++)
        ((const float **)&made)[i] = get_pointer();
    return made;
}

static struct block_weights get_block_weights(void) {
    struct block_weights made = {0};
    for (size_t i = 0; i < BLOCK_ARRAYS; i++)
        ((const float **)&made)[i] = get_pointer();
    return made;
}

static void get_extras(struct extras *extras) {
    extras->sinks = get_pointer();
    extras->relative_bias = get_pointer();
    extras->mask = get_pointer();
    extras->mask_stride = get_size();
    extras->bias = get_pointer();
    extras->bias_stride = get_size();
    extras->bias_head_stride = get_size();
    extras->first_key = get_size();
    extras->end_key = get_size();
    extras->lse = get_pointer();
}

static int call(enum request request) {
    struct pool room;
    const float *q, *k, *v;
    struct extras extras = {0};
    float *out;
    void *cache, *scratch;
    const void *weights;
    size_t pos, n;
    switch (request) {
    case ATTENTION:
        q = get_pointer();
        k = get_pointer();
        v = get_pointer();
        pos = get_size(); /* n_q */
        n = get_size();
        get_extras(&extras);
        out = get_pointer();
        scratch = get_pointer();
        return kernel->attention(q, k, v, pos, n, &extras, out, scratch, get_pool(&room));
    case CACHE_RESET:
        return kernel->cache_reset(get_pointer());
    case CACHE_RESET_LONG:
        return kernel->cache_reset_long(get_pointer());
    case CACHE_APPEND:
        cache = get_pointer();
        pos = get_size();
        n = get_size();
        k = get_pointer();
        return kernel->cache_append(cache, pos, n, k, get_pointer());
    case CACHE_ATTENTION:
        cache = get_pointer();
        pos = get_size();
        n = get_size();
        q = get_pointer();
        get_extras(&extras);
        out = get_pointer();
        scratch = get_pointer();
        return kernel->cache_attention(cache, pos, n, q, &extras, out, scratch, get_pool(&room));
    case MERGE: {
        float *lse;
        const float *other, *other_lse;
        out = get_pointer();
        lse = get_pointer();
        other = get_pointer();
        other_lse = get_pointer();
        return kernel->merge(out, lse, other, other_lse, get_size());
    }
    case PACK_WEIGHTS: {
        const struct weights source = get_weights();
        const bool given = get_number(stdin);
        return kernel->pack_weights(given ? &source : NULL, get_pointer());
    }
    case PACK_BLOCK_WEIGHTS: {
        const struct weights attention = get_weights();
        const struct block_weights source = get_block_weights();
        const bool given = get_number(stdin);
        return kernel->pack_block_weights(&attention, given ? &source : NULL, get_pointer());
    }
    case BLOCK_CALL:
    case LAYER:
        weights = get_pointer();
        cache = get_pointer();
        pos = get_size();
        n = get_size();
        q = get_pointer();
        get_extras(&extras);
        out = get_pointer();
        scratch = get_pointer();
        return (request == LAYER ? kernel->layer : kernel->block_call)(
            weights, cache, pos, n, q, &extras, out, scratch, get_pool(&room));
    case SOURCE:
        weights = get_pointer();
        cache = get_pointer();
        pos = get_size();
        n = get_size();
        q = get_pointer();
        scratch = get_pointer();
        return kernel->source(weights, cache, pos, n, q, scratch, get_pool(&room));
    default:
        fail("an unknown request");
        return 0;
    }
}

/* The word that says how to round and what to do with subnormals, where there is one. */
#if defined(__x86_64__)
static const uint64_t zero_subnormals = 0x8040;
static uint64_t control(void) { return _mm_getcsr() & ~0x3fU; }
static void set_control(uint64_t word) { _mm_setcsr((unsigned)word); }
#elif defined(__aarch64__)
static const uint64_t zero_subnormals = 1U << 24;
static uint64_t control(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}
static void set_control(uint64_t word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
static const uint64_t zero_subnormals = 0;
static uint64_t control(void) { return 0; }
static void set_control(uint64_t word) { (void)word; }
#endif

/* The call, with the suite's control as far as this machine has it. */
static int call_controlled(enum request request, uint64_t wanted) {
    const uint64_t usual = control();
    bool upwards = false;
#if defined(FE_UPWARD)
    upwards = (wanted & ROUND_UPWARDS) && fesetround(FE_UPWARD) == 0;
#endif
    if (wanted & ZERO_SUBNORMALS)
        set_control(control() | zero_subnormals);
    const uint64_t given = control();
    const int status = call(request);
    if (control() != given)
        fail("a call changed the floating-point control");
#if defined(FE_UPWARD)
    if (upwards && fegetround() != FE_UPWARD)
        fail("a call changed the rounding direction");
#endif
    if (upwards)
        fesetround(FE_TONEAREST);
    set_control(usual);
    return status;
}

static void answer_call(enum request request) {
    const uint64_t wanted = get_number(stdin);
    buffer_count = get_size();
    if (buffer_count > BUFFERS)
        fail("too many buffers");
    for (size_t i = 0; i < buffer_count; i++)
        get_buffer(&buffers[i]);
    const int status = call_controlled(request, wanted);
    put_number(stdout, (uint64_t)(int64_t)status);
    for (size_t i = 0; i < buffer_count; i++) {
        set_writable(&buffers[i], true);
        if (buffers[i].kind != SCRATCH && !(buffers[i].flags & FROZEN))
            put_changes(&buffers[i], i + 1);
        if (buffers[i].kind != MEMORY)
            unmap(&buffers[i]);
    }
    put_number(stdout, 0);
}

static void description(void) {
    const size_t numbers[] = {
        kernel->d_model,
        kernel->heads,
        kernel->kv_heads,
        kernel->head_dim,
        kernel->v_head_dim,
        kernel->capacity,
        kernel->rotary_dim,
        kernel->window,
        kernel->window_right,
        kernel->source_width,
        kernel->cache_positions,
        kernel->chunk,
        kernel->relative_buckets,
        kernel->relative_max_distance,
        kernel->cross,
        kernel->relative_bidirectional,
        kernel->key_range,
        kernel->masked,
        kernel->mask_bias,
        kernel->mask_heads,
        kernel->exact,
        kernel->causal,
        kernel->sinks,
        kernel->lse,
        kernel->alibi,
        kernel->has_layer,
        kernel->qkv_bias,
        kernel->o_bias,
        kernel->weights_in_out,
        kernel->rope_interleaved,
        kernel->align,
        kernel->cache_bytes,
        kernel->weights_bytes,
        kernel->max_threads,
        kernel->parameters,
        kernel->kv_bytes_per_token,
    };
    put_text(stdout, kernel->name);
    put_text(stdout, kernel->isas);
    put_text(stdout, kernel->unfused);
    put_real(stdout, kernel->scale);
    put_real(stdout, kernel->rope_theta);
    put_real(stdout, kernel->softcap);
    put_real(stdout, kernel->alibi_bias_max);
    put_real(stdout, kernel->alibi_scale);
    put_real(stdout, kernel->clip_qkv);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_number(stdout, numbers[i]);
}

int main(void) {
    char text[TEXT];
    description();
    for (;;) {
        fflush(stdout);
        const enum request request = (enum request)get_number(stdin);
        switch (request) {
        case END:
            put_text(stdout, CLOSING);
            return fflush(stdout) != 0;
        case USE_ISA:
            get_text(stdin, text);
            put_number(stdout, (uint64_t)(int64_t)kernel->use_isa(*text ? text : NULL));
            break;
        case ISA:
            put_text(stdout, kernel->isa());
            break;
        case SCRATCH_BYTES:
            put_number(stdout, kernel->scratch_bytes(get_size()));
            break;
        case CACHE_SCRATCH_BYTES:
            put_number(stdout, kernel->cache_scratch_bytes(get_size()));
            break;
        default:
            answer_call(request);
        }
    }
}
