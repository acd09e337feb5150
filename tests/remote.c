#define _GNU_SOURCE /* pipe2, process_vm_readv */
#include "remote.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "foreign/protocol.h"
#include "guard.h"
#include "pool.h"
#include "problem.h"

extern char **environ;

/* ---- the runner ---- */

static FILE *to, *from;
static pid_t child;
static const char *command = "";
static struct kernel described;
static char name[TEXT], isas[TEXT], unfused[TEXT], isa_now[TEXT];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* several threads may call */

static void protocol_broken(void) {
    int status = 0;
    (void)waitpid(child, &status, 0);
    child = 0;
    cr_assert_fail("%s: the runner ended with status %d", command,
                   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    abort();
}

enum { WORDS = 32, SECONDS = 300 };

/* The command's words: `timeout -k 1 N EMULATOR... RUNNER`; cut up in `text`. */
static void split(const struct foreign *target, char *text, size_t size, char *words[WORDS]) {
    char *state = NULL;
    size_t count = 0;
    snprintf(text, size, "timeout -k 1 %d %s %s", SECONDS, target->emulator, target->runner);
    for (char *word = strtok_r(text, " ", &state); word && count + 1 < WORDS;
         word = strtok_r(NULL, " ", &state))
        words[count++] = word;
    words[count] = NULL;
}

const char *foreign_lacks(const struct foreign *target) {
    static char said[160];
    char program[128], path[512];
    const char *search = getenv("PATH");
    snprintf(program, sizeof program, "%.*s", (int)strcspn(target->emulator, " "),
             target->emulator);
    while (search && *search) {
        const int length = (int)strcspn(search, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, search, program);
        if (access(path, X_OK) == 0)
            break;
        search += length + (search[length] == ':');
    }
    if (!search || !*search) {
        snprintf(said, sizeof said, "no %s here", program);
        return said;
    }
    return access(target->runner, R_OK) == 0 ? NULL : "its compiler is not here";
}

static void start(const struct foreign *target) {
    static char text[1024];
    char *words[WORDS];
    int ask[2], answer[2];
    posix_spawn_file_actions_t actions;
    split(target, text, sizeof text, words);
    command = target->emulator;
    signal(SIGPIPE, SIG_IGN);
    cr_assert(pipe2(ask, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0, "pipe2");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ask[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO);
    const int error = posix_spawnp(&child, "timeout", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ask[0]);
    close(answer[1]);
    cr_assert_eq(error, 0, "timeout: %s", strerror(error));
    to = fdopen(ask[1], "wb");
    from = fdopen(answer[0], "rb");
    cr_assert(to && from, "fdopen");
    setvbuf(to, NULL, _IOFBF, 1 << 16);
    setvbuf(from, NULL, _IOFBF, 1 << 16);
}

bool remote_end(void) {
    char text[TEXT];
    int status = -1;
    if (!child)
        return true;
    put_number(to, END);
    fflush(to);
    get_text(from, text);
    fclose(to);
    fclose(from);
    (void)waitpid(child, &status, 0);
    child = 0;
    if (strcmp(text, CLOSING) == 0 && status == 0)
        return true;
    fprintf(stderr, "%s: the runner closed with '%s', status %#x\n", command, text,
            (unsigned)status);
    return false;
}

/* ---- buffers of a call ---- */

static struct buffer {
    enum buffer_kind kind;
    const void *address;
    size_t bytes;
    bool constant; /* the call may not write it */
} buffers[BUFFERS];
static size_t buffer_count;

/* What the runner knows to be in a cache or in packed weights. */
static struct known {
    const void *address;
    size_t bytes;
    unsigned char *held;
} known[KEPT];
static size_t known_count;

/* The number of a buffer, as a pointer's text: the same for the same address. */
static uint64_t pointer(enum buffer_kind kind, const void *address, size_t bytes, bool constant) {
    if (!address)
        return 0;
    for (size_t i = 0; i < buffer_count; i++)
        if (buffers[i].address == address) {
            buffers[i].constant = buffers[i].constant && constant;
            if (buffers[i].bytes < bytes)
                buffers[i].bytes = bytes;
            return i + 1;
        }
    cr_assert_lt(buffer_count, (size_t)BUFFERS);
    buffers[buffer_count] = (struct buffer){kind, address, bytes, constant};
    return ++buffer_count;
}

/* Rows of a matrix; a call that must be refused may name more than there are. */
static uint64_t rows(const void *address, size_t count, size_t width, bool constant) {
    const size_t most = described.capacity > described.cache_positions ? described.capacity
                                                                       : described.cache_positions;
    return pointer(FLOATS, address, (count < most ? count : most) * width * sizeof(float),
                   constant);
}

/* How many of the bytes this process can read, without the risk of a crash; copies them. */
static size_t read_safely(const void *address, size_t bytes, void *copy) {
    const struct iovec local = {copy, bytes}, remote = {(void *)address, bytes};
    if (!bytes)
        return 0;
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

static struct known *find_known(const struct buffer *buffer) {
    for (size_t i = 0; i < known_count; i++)
        if (known[i].address == buffer->address && known[i].bytes == buffer->bytes)
            return &known[i];
    return NULL;
}

static struct known *new_known(const struct buffer *buffer) {
    if (known_count == KEPT) {
        free(known[0].held);
        memmove(known, known + 1, --known_count * sizeof *known);
    }
    known[known_count] = (struct known){buffer->address, buffer->bytes, malloc(buffer->bytes + 1)};
    cr_assert(known[known_count].held, "out of memory");
    return &known[known_count++];
}

static void put_memory(const struct buffer *buffer, uint64_t flags) {
    struct known *own = find_known(buffer);
    const bool same = own && memcmp(own->held, buffer->address, buffer->bytes) == 0;
    if (!own)
        own = new_known(buffer);
    put_number(to, buffer->bytes);
    put_number(to, flags | (same ? 0 : FOLLOW));
    if (same)
        return;
    memcpy(own->held, buffer->address, buffer->bytes);
    put_bytes(to, own->held, buffer->bytes);
}

static void put_buffer(struct buffer *buffer) {
    const bool frozen = buffer->constant || guard_is_frozen(buffer->address);
    const uint64_t flags = frozen ? FROZEN : 0;
    if (buffer->kind == MEMORY && (uintptr_t)buffer->address % described.align) {
        buffer->kind = FLOATS; /* to be refused: not a byte of it may be touched */
        buffer->bytes = 0;
    }
    put_number(to, buffer->kind);
    put_number(to, (uintptr_t)buffer->address);
    if (buffer->kind == MEMORY) {
        put_memory(buffer, flags);
    } else if (buffer->kind == SCRATCH) {
        put_number(to, buffer->bytes);
        put_number(to, flags);
        put_number(to, *(const unsigned char *)buffer->address);
    } else {
        unsigned char *copy = malloc(buffer->bytes + 1);
        cr_assert(copy, "out of memory");
        buffer->bytes = read_safely(buffer->address, buffer->bytes, copy);
        if (buffer->kind == FLOATS)
            buffer->bytes = buffer->bytes / sizeof(float) * sizeof(float);
        put_number(to, buffer->bytes);
        put_number(to, flags | FOLLOW);
        put_bytes(to, copy, buffer->bytes);
        free(copy);
    }
}

/* What this thread has set, for the runner to set too. */
static uint64_t wanted_control(void) {
    uint64_t wanted = fegetround() == FE_UPWARD ? ROUND_UPWARDS : 0;
#if defined(__x86_64__)
    if (_mm_getcsr() & 0x8040)
        wanted |= ZERO_SUBNORMALS;
#endif
    return wanted;
}

static void put_buffers(enum request request) {
    put_number(to, request);
    put_number(to, wanted_control());
    put_number(to, buffer_count);
    for (size_t i = 0; i < buffer_count; i++)
        put_buffer(&buffers[i]);
}

static void put_pool(const struct pool *pool) {
    put_number(to, pool != NULL);
    if (!pool)
        return;
    put_number(to, pool->threads);
    put_number(to, pool_is_reversed(pool));
    put_number(to, pool->run != NULL);
}

/* The call's status; what it wrote is written here too, which is a crash where it must not. */
static int get_status(void) {
    fflush(to);
    const int status = (int)(int64_t)get_number(from);
    for (uint64_t number; (number = get_number(from)) != 0;) {
        const struct buffer *buffer = &buffers[number - 1];
        const size_t offset = get_number(from), bytes = get_number(from);
        cr_assert(number <= buffer_count && offset + bytes <= buffer->bytes, "%s: nonsense",
                  command);
        unsigned char *const place = (unsigned char *)buffer->address + offset;
        get_bytes(from, place, bytes);
        struct known *own = buffer->kind == MEMORY ? find_known(buffer) : NULL;
        if (own)
            memcpy(own->held + offset, place, bytes);
    }
    buffer_count = 0;
    return status;
}

/* ---- the functions of struct kernel ---- */

static size_t q_width(void) { return described.heads * described.head_dim; }
static size_t k_width(void) { return described.kv_heads * described.head_dim; }
static size_t v_width(void) { return described.kv_heads * described.v_head_dim; }
static size_t out_width(void) { return described.heads * described.v_head_dim; }

static size_t ask_bytes(enum request request, size_t threads) {
    pthread_mutex_lock(&turn);
    put_number(to, request);
    put_number(to, threads);
    fflush(to);
    const size_t bytes = get_number(from);
    pthread_mutex_unlock(&turn);
    return bytes;
}

static size_t scratch_bytes(size_t threads) { return ask_bytes(SCRATCH_BYTES, threads); }
static size_t cache_scratch_bytes(size_t threads) {
    return ask_bytes(CACHE_SCRATCH_BYTES, threads);
}

/* The numbers that stand for `extras`, as the runner's get_extras takes them. */
enum { EXTRAS = 10 };
static void name_extras(const struct extras *extras, size_t queries, size_t keys,
                        uint64_t numbers[EXTRAS]) {
    const size_t most = described.capacity, heads = described.mask_heads ? described.heads : 1;
    const size_t before = queries == 0     ? 0
                          : queries < most ? queries - 1
                                           : most - 1; /* the last row */
    /* queries of cross attention stand nowhere in the keys */
    const size_t width = described.cross ? described.cache_positions : keys < most ? keys : most;
    const size_t biases = (heads - 1) * extras->bias_head_stride + before * extras->bias_stride;
    size_t next = 0;
    numbers[next++] = pointer(FLOATS, extras->sinks, described.heads * sizeof(float), true);
    numbers[next++] = pointer(FLOATS, extras->relative_bias,
                              described.relative_buckets * described.heads * sizeof(float), true);
    numbers[next++] = pointer(BYTES, extras->mask, before * extras->mask_stride + width, true);
    numbers[next++] = extras->mask_stride;
    numbers[next++] = pointer(FLOATS, extras->bias, (biases + width) * sizeof(float), true);
    numbers[next++] = extras->bias_stride;
    numbers[next++] = extras->bias_head_stride;
    numbers[next++] = extras->first_key;
    numbers[next++] = extras->end_key;
    numbers[next++] = rows(extras->lse, queries, described.heads, false);
}

static void put_numbers(const uint64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        put_number(to, numbers[i]);
}

/* A pool that must be refused has no scratch that fits. */
static size_t threads_of(const struct pool *pool) {
    return pool && pool->threads <= described.max_threads ? pool->threads : 0;
}

static int attention(const float *q, const float *k, const float *v, size_t n_q, size_t n_kv,
                     const struct extras *extras, float *out, void *scratch,
                     const struct pool *pool) {
    const size_t bytes = scratch_bytes(threads_of(pool));
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {rows(q, n_q, q_width(), true), rows(k, n_kv, k_width(), true),
                                 rows(v, n_kv, v_width(), true), rows(out, n_q, out_width(), false),
                                 pointer(SCRATCH, scratch, bytes, false)};
    uint64_t others[EXTRAS];
    name_extras(extras, n_q, n_kv, others);
    put_buffers(ATTENTION);
    put_numbers(pointers, 3);
    put_number(to, n_q);
    put_number(to, n_kv);
    put_numbers(others, EXTRAS);
    put_numbers(pointers + 3, 2);
    put_pool(pool);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int reset(enum request request, void *cache) {
    pthread_mutex_lock(&turn);
    const uint64_t own = pointer(MEMORY, cache, described.cache_bytes, false);
    put_buffers(request);
    put_number(to, own);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int cache_reset(void *cache) { return reset(CACHE_RESET, cache); }
static int cache_reset_long(void *cache) { return reset(CACHE_RESET_LONG, cache); }

static int cache_append(void *cache, size_t pos, size_t n, const float *k, const float *v) {
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {pointer(MEMORY, cache, described.cache_bytes, false),
                                 rows(k, n, k_width(), true), rows(v, n, v_width(), true)};
    put_buffers(CACHE_APPEND);
    put_number(to, pointers[0]);
    put_number(to, pos);
    put_number(to, n);
    put_number(to, pointers[1]);
    put_number(to, pointers[2]);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int cache_attention(const void *cache, size_t pos, size_t n, const float *q,
                           const struct extras *extras, float *out, void *scratch,
                           const struct pool *pool) {
    const size_t bytes = cache_scratch_bytes(threads_of(pool));
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {pointer(MEMORY, cache, described.cache_bytes, true),
                                 rows(q, n, q_width(), true), rows(out, n, out_width(), false),
                                 pointer(SCRATCH, scratch, bytes, false)};
    uint64_t others[EXTRAS];
    name_extras(extras, n, described.capacity, others);
    put_buffers(CACHE_ATTENTION);
    put_number(to, pointers[0]);
    put_number(to, pos);
    put_number(to, n);
    put_number(to, pointers[1]);
    put_numbers(others, EXTRAS);
    put_numbers(pointers + 2, 2);
    put_pool(pool);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int merge(float *out, float *lse, const float *other, const float *other_lse, size_t n) {
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {
        rows(out, n, out_width(), false), rows(lse, n, described.heads, false),
        rows(other, n, out_width(), true), rows(other_lse, n, described.heads, true)};
    put_buffers(MERGE);
    put_numbers(pointers, 4);
    put_number(to, n);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

/* The arrays of a layer's weights, as pointers' texts. */
static void weights_pointers(const struct weights *given, uint64_t pointers[ARRAYS]) {
    const float *const *arrays = (const float *const *)given;
    struct array_size sizes[ARRAYS];
    weight_sizes(&described, sizes);
    for (size_t i = 0; i < ARRAYS; i++)
        pointers[i] = pointer(FLOATS, arrays[i], sizes[i].count * sizeof(float), true);
}

static int pack_weights(const struct weights *source, void *weights) {
    static const struct weights none;
    uint64_t pointers[ARRAYS];
    pthread_mutex_lock(&turn);
    weights_pointers(source ? source : &none, pointers);
    const uint64_t packed = pointer(MEMORY, weights, described.weights_bytes, false);
    put_buffers(PACK_WEIGHTS);
    put_numbers(pointers, ARRAYS);
    put_number(to, source != NULL);
    put_number(to, packed);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int pack_block_weights(const struct weights *attention, const struct block_weights *source,
                              void *weights) {
    static const struct weights none;
    static const struct block_weights no_block;
    const struct block_weights *given = source ? source : &no_block;
    const float *(*const all)[BLOCK_ARRAYS] = (const float *(*)[BLOCK_ARRAYS])given;
    uint64_t pointers[ARRAYS + BLOCK_ARRAYS];
    size_t shapes[BLOCK_ARRAYS][2];
    pthread_mutex_lock(&turn);
    block_shapes(&described, shapes);
    weights_pointers(attention ? attention : &none, pointers);
    for (size_t i = 0; i < BLOCK_ARRAYS; i++)
        pointers[ARRAYS + i] =
            pointer(FLOATS, (*all)[i],
                    (shapes[i][0] ? shapes[i][0] : 1) * shapes[i][1] * sizeof(float), true);
    const uint64_t packed = pointer(MEMORY, weights, described.block->weights_bytes, false);
    put_buffers(PACK_BLOCK_WEIGHTS);
    put_numbers(pointers, ARRAYS + BLOCK_ARRAYS);
    put_number(to, source != NULL);
    put_number(to, packed);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int call_layer(enum request request, const void *weights, void *cache, size_t pos, size_t n,
                      const float *x, const struct extras *extras, float *y, void *scratch,
                      const struct pool *pool) {
    const size_t whole = described.block ? described.block->weights_bytes : 0;
    const size_t threads = threads_of(pool);
    const size_t bytes = cache ? cache_scratch_bytes(threads) : scratch_bytes(threads);
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {
        pointer(MEMORY, weights, request == LAYER ? described.weights_bytes : whole, true),
        pointer(MEMORY, cache, described.cache_bytes, false), rows(x, n, described.d_model, true),
        rows(y, n, described.d_model, false), pointer(SCRATCH, scratch, bytes, false)};
    uint64_t others[EXTRAS];
    name_extras(extras, n, pos < described.capacity ? pos + n : pos, others);
    put_buffers(request);
    put_numbers(pointers, 2);
    put_number(to, pos);
    put_number(to, n);
    put_number(to, pointers[2]);
    put_numbers(others, EXTRAS);
    put_numbers(pointers + 3, 2);
    put_pool(pool);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int source(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                  void *scratch, const struct pool *pool) {
    const size_t bytes = cache_scratch_bytes(threads_of(pool));
    pthread_mutex_lock(&turn);
    const uint64_t pointers[] = {pointer(MEMORY, weights, described.weights_bytes, true),
                                 pointer(MEMORY, cache, described.cache_bytes, false),
                                 rows(x, n, described.source_width, true),
                                 pointer(SCRATCH, scratch, bytes, false)};
    put_buffers(SOURCE);
    put_numbers(pointers, 2);
    put_number(to, pos);
    put_number(to, n);
    put_numbers(pointers + 2, 2);
    put_pool(pool);
    const int status = get_status();
    pthread_mutex_unlock(&turn);
    return status;
}

static int layer(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                 const struct extras *extras, float *y, void *scratch, const struct pool *pool) {
    return call_layer(LAYER, weights, cache, pos, n, x, extras, y, scratch, pool);
}

static int block_call(const void *weights, void *cache, size_t pos, size_t n, const float *x,
                      const struct extras *extras, float *y, void *scratch,
                      const struct pool *pool) {
    return call_layer(BLOCK_CALL, weights, cache, pos, n, x, extras, y, scratch, pool);
}

static const char *isa(void) {
    if (*isa_now)
        return isa_now;
    pthread_mutex_lock(&turn);
    put_number(to, ISA);
    fflush(to);
    get_text(from, isa_now);
    pthread_mutex_unlock(&turn);
    return isa_now;
}

static int use_isa(const char *id) {
    pthread_mutex_lock(&turn);
    put_number(to, USE_ISA);
    put_text(to, id ? id : "");
    fflush(to);
    const int status = (int)(int64_t)get_number(from);
    *isa_now = 0;
    pthread_mutex_unlock(&turn);
    return status;
}

/* ---- starting ---- */

static void get_description(void) {
    get_text(from, name);
    get_text(from, isas);
    get_text(from, unfused);
    described = (struct kernel){.name = name, .isas = isas, .unfused = unfused};
    described.scale = get_real(from);
    described.rope_theta = get_real(from);
    described.softcap = get_real(from);
    described.alibi_bias_max = get_real(from);
    described.alibi_scale = get_real(from);
    described.clip_qkv = get_real(from);
    size_t *const sizes[] = {&described.d_model,          &described.heads,
                             &described.kv_heads,         &described.head_dim,
                             &described.v_head_dim,       &described.capacity,
                             &described.rotary_dim,       &described.window,
                             &described.window_right,     &described.source_width,
                             &described.cache_positions,  &described.chunk,
                             &described.relative_buckets, &described.relative_max_distance};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] = get_number(from);
    bool *const flags[] = {&described.cross,          &described.relative_bidirectional,
                           &described.key_range,      &described.masked,
                           &described.mask_bias,      &described.mask_heads,
                           &described.exact,          &described.causal,
                           &described.sinks,          &described.lse,
                           &described.alibi,          &described.has_layer,
                           &described.qkv_bias,       &described.o_bias,
                           &described.weights_in_out, &described.rope_interleaved};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = get_number(from) != 0;
    size_t *const costs[] = {&described.align,         &described.cache_bytes,
                             &described.weights_bytes, &described.max_threads,
                             &described.parameters,    &described.kv_bytes_per_token};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        *costs[i] = get_number(from);
    described.scratch_bytes = scratch_bytes;
    described.cache_scratch_bytes = cache_scratch_bytes;
    described.attention = attention;
    described.cache_reset = cache_reset;
    described.cache_append = cache_append;
    described.cache_attention = cache_attention;
    described.merge = described.lse ? merge : NULL;
    described.pack_weights = described.has_layer ? pack_weights : NULL;
    described.layer = described.has_layer ? layer : NULL;
    described.source = described.has_layer && described.cross ? source : NULL;
    described.isa = isa;
    described.use_isa = use_isa;
}

/* What a caller may rely on whatever the machine. */
static void expect_twin(const struct kernel *twin) {
    const size_t pairs[][2] = {{described.d_model, twin->d_model},
                               {described.heads, twin->heads},
                               {described.kv_heads, twin->kv_heads},
                               {described.head_dim, twin->head_dim},
                               {described.v_head_dim, twin->v_head_dim},
                               {described.capacity, twin->capacity},
                               {described.rotary_dim, twin->rotary_dim},
                               {described.align, twin->align},
                               {described.cache_bytes, twin->cache_bytes},
                               {described.weights_bytes, twin->weights_bytes},
                               {described.exact, twin->exact},
                               {described.causal, twin->causal},
                               {described.window, twin->window},
                               {described.window_right, twin->window_right},
                               {described.cache_positions, twin->cache_positions},
                               {described.chunk, twin->chunk}};
    cr_assert_str_eq(described.name, twin->name, "%s: the runner of another kernel", command);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        cr_assert_eq(pairs[i][0], pairs[i][1], "%s %s: size %zu is %zu, natively %zu", command,
                     name, i, pairs[i][0], pairs[i][1]);
    cr_assert_eq(described.scale, twin->scale);
}

/* Numbers of the header that no runner need tell: the reference computes with them. */
static void take_numbers(const struct kernel *twin) {
    described.rope_offset = twin->rope_offset;
    described.scaling = twin->scaling;
    described.qk_norm = twin->qk_norm;
    described.block = twin->block;
    described.pack_block_weights = twin->block ? pack_block_weights : NULL;
    described.block_call = twin->block ? block_call : NULL;
    described.mla = twin->mla;
    described.cache_reset_long = twin->cache_reset_long ? cache_reset_long : NULL;
}

const struct kernel *remote_start(const struct foreign *target) {
    if (!child) {
        start(target);
        get_description();
        expect_twin(kernels[target->kernel]);
        take_numbers(kernels[target->kernel]);
    }
    return &described;
}
