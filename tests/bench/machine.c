#define _GNU_SOURCE
#include "machine.h"

#include <elf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- limits of an instruction set ---- */

#if defined(__x86_64__)
/* Each register is a chain of its own: enough of them for 2 units with a latency of 5. They start
 * from zero: garbage could be denormal numbers, which are slow. A call takes some milliseconds: the
 * clock of some CPUs rises for less, and the best of short calls would be a peak that nothing
 * longer can reach. */
enum { FMA_ROUNDS = 480000, FMA_CHAINS = 12 };
#define CHAINS "0,1,2,3,4,5,6,7,8,9,10,11"
#define FMA_LOOP(r)                                                                                \
    size_t rounds = FMA_ROUNDS;                                                                    \
    __asm__ volatile(                                                                              \
        ".irp i," CHAINS ",12,13\n\tvpxor %%xmm\\i,%%xmm\\i,%%xmm\\i\n\t.endr\n"                   \
        "1:\n\t"                                                                                   \
        ".irp i," CHAINS "\n\tvfmadd231ps %%" r "12,%%" r "13,%%" r "\\i\n\t.endr\n\t"             \
        ".irp i," CHAINS "\n\tvfmadd231ps %%" r "12,%%" r "13,%%" r "\\i\n\t.endr\n\t"             \
        "dec %0\n\tjnz 1b\n\tvzeroupper"                                                           \
        : "+r"(rounds)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "cc")

static void fma_avx2(void) { FMA_LOOP("ymm"); }
static void fma_avx512(void) { FMA_LOOP("zmm"); }

/* 256 bytes of each stream in turn. */
#define READ_LOOP(r, size, indices)                                                                \
    const size_t part = bytes / streams;                                                           \
    for (size_t at = 0; at < part; at += 256)                                                      \
        for (const char *p = from + at; p < from + bytes; p += part)                               \
            __asm__ volatile(".irp i," indices "\n\tvmovups " size "*\\i(%0),%%" r                 \
                             "\\i\n\t.endr" ::"r"(p)                                               \
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");    \
    __asm__ volatile("vzeroupper" ::: "memory")

static void read_avx2(const char *from, size_t bytes, size_t streams) {
    READ_LOOP("ymm", "32", "0,1,2,3,4,5,6,7");
}
static void read_avx512(const char *from, size_t bytes, size_t streams) {
    READ_LOOP("zmm", "64", "0,1,2,3");
}

static const struct vectors all_vectors[] = {
    {"avx2", 2UL * 8 * 2 * FMA_CHAINS *FMA_ROUNDS, fma_avx2, read_avx2},
    {"avx512", 2UL * 16 * 2 * FMA_CHAINS *FMA_ROUNDS, fma_avx512, read_avx512},
};
enum { VECTORS = sizeof all_vectors / sizeof *all_vectors };
#else
static const struct vectors all_vectors[1];
enum { VECTORS = 0 };
#endif

const struct vectors *vectors_of(const char *isa) {
    for (size_t i = 0; i < VECTORS; i++)
        if (strcmp(all_vectors[i].isa, isa) == 0)
            return &all_vectors[i];
    return NULL;
}

/* ---- CPUs and threads ---- */

static bool pin(size_t cpu, bool first_in_line) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const struct sched_param first = {.sched_priority = 1};
    (void)sched_setaffinity(0, sizeof set, &set);
    return first_in_line && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

struct machine machine_take(bool first_in_line) {
    struct machine machine = {.name = "unknown CPU"};
    char line[256];
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (sscanf(line, "model name : %95[^\n]", machine.name) == 1)
            break;
    if (info)
        fclose(info);
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof set, &set);
    /* The last first: interrupts mostly go to the first CPU. */
    for (size_t cpu = CPU_SETSIZE; cpu-- > 0;)
        if (CPU_ISSET(cpu, &set) && machine.count < CPUS)
            machine.cpus[machine.count++] = cpu;
    if (!machine.count)
        machine.count = 1;
    machine.first_in_line = pin(machine.cpus[0], first_in_line);
    return machine;
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Rounds in which there is nothing to run end a member. */
static void *work(void *member) {
    const struct member *own = member;
    struct team *team = own->team;
    for (unsigned seen = 0;; seen++) {
        while (atomic_load_explicit(&team->round, memory_order_acquire) == seen)
            relax();
        const size_t tasks = team->tasks;
        if (own->index < tasks)
            team->task(team->argument, own->index);
        atomic_fetch_sub_explicit(&team->left, 1, memory_order_release);
        if (!tasks)
            return NULL;
    }
}

static void run(void *self, void (*task)(void *, size_t), void *argument, size_t count) {
    struct team *team = self;
    team->task = task;
    team->argument = argument;
    team->tasks = count;
    atomic_store_explicit(&team->left, team->count - 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    if (count)
        task(argument, 0);
    while (atomic_load_explicit(&team->left, memory_order_acquire))
        relax();
}

void team_start(struct team *team, const struct machine *machine, size_t count) {
    team->count = count;
    atomic_store(&team->round, 0);
    for (size_t i = 1; i < count; i++) {
        pthread_attr_t attributes;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(machine->cpus[i], &set);
        team->members[i] = (struct member){team, i};
        /* There from the start: on our CPU it would never get its turn while we wait for it. */
        if (pthread_attr_init(&attributes) ||
            pthread_attr_setaffinity_np(&attributes, sizeof set, &set) ||
            pthread_create(&team->threads[i], &attributes, work, &team->members[i])) {
            fputs("bench: cannot start a thread\n", stderr);
            exit(1);
        }
        pthread_attr_destroy(&attributes);
    }
}

void team_stop(struct team *team) {
    run(team, NULL, NULL, 0);
    for (size_t i = 1; i < team->count; i++)
        pthread_join(team->threads[i], NULL);
}

struct pool team_pool(struct team *team) {
    return (struct pool){team, team->count, run};
}

/* ---- code ---- */

/* `size` bytes at `offset` of the file, for the caller to free; NULL if they are not there. */
static void *load(FILE *file, uint64_t offset, uint64_t size) {
    void *memory = malloc(size ? size : 1);
    if (memory && !fseek(file, (long)offset, SEEK_SET) && fread(memory, 1, size, file) == size)
        return memory;
    free(memory);
    return NULL;
}

static size_t sum_symbols(FILE *file, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                          const char *prefix) {
    const Elf64_Sym *symbols = load(file, table->sh_offset, table->sh_size);
    const char *names = load(file, strings->sh_offset, strings->sh_size);
    size_t sum = 0;
    for (size_t i = 0; symbols && names && i < table->sh_size / sizeof *symbols; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            strncmp(names + symbols[i].st_name, prefix, strlen(prefix)) == 0)
            sum += symbols[i].st_size;
    free((void *)symbols);
    free((void *)names);
    return sum;
}

size_t code_bytes(const char *kernel, const char *isa) {
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%s_%s_", kernel, isa);
    FILE *file = fopen("/proc/self/exe", "rb");
    if (!file)
        return 0;
    size_t sum = 0;
    const Elf64_Ehdr *head = load(file, 0, sizeof *head);
    if (head && head->e_ident[EI_CLASS] == ELFCLASS64) {
        const Elf64_Shdr *sections =
            load(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof *sections);
        for (size_t i = 0; sections && i < head->e_shnum; i++)
            if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum)
                sum += sum_symbols(file, &sections[i], &sections[sections[i].sh_link], prefix);
        free((void *)sections);
    }
    free((void *)head);
    fclose(file);
    return sum;
}
