#define _POSIX_C_SOURCE 200809L
#include "suite.h"

#include <criterion/hooks.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "problem.h"
#include "remote.h"

/* ---- instruction sets ---- */

/* Whether a word is in a list of words with single spaces between them. */
static bool listed(const char *list, const char *word) {
    const size_t length = strlen(word);
    while (strncmp(list, word, length) != 0 || !strchr(" ", list[length])) {
        list = strchr(list, ' ');
        if (!list)
            return false;
        list++;
    }
    return true;
}

bool is_fused(const struct kernel *kernel) { return !listed(kernel->unfused, kernel->isa()); }

bool is_biased(const struct kernel *kernel) {
    return kernel->alibi || kernel->relative_buckets || kernel->mask_bias;
}

bool isa_id(const struct kernel *kernel, size_t index, char id[ID_SIZE]) {
    const char *from = kernel->isas;
    for (; index && from; index--)
        from = (from = strchr(from, ' ')) ? from + 1 : NULL;
    if (!from)
        return false;
    snprintf(id, ID_SIZE, "%.*s", (int)strcspn(from, " "), from);
    return true;
}

const char *cpu_lacks(const char *isa) {
    if (strcmp(isa, "scalar") == 0 || strcmp(isa, "scalar_unfused") == 0)
        return NULL;
#if defined(__x86_64__)
    if (strcmp(isa, "sse4.2") == 0)
        return __builtin_cpu_supports("sse4.2") ? NULL : "sse4.2";
    if (strcmp(isa, "avx2") == 0)
        return !__builtin_cpu_supports("avx2")  ? "avx2"
               : !__builtin_cpu_supports("fma") ? "fma"
                                                : NULL;
    if (strcmp(isa, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") ? NULL : "avx512f";
#endif
    return "that architecture";
}

/* ---- parameters ---- */

bool has_layer(const struct kernel *kernel) { return kernel->has_layer; }
bool has_block(const struct kernel *kernel) { return kernel->block != NULL; }
bool has_rope(const struct kernel *kernel) { return kernel->has_layer && kernel->rotary_dim; }
bool has_bare_rope(const struct kernel *kernel) {
    return has_rope(kernel) && !kernel->qk_norm && !kernel->mla;
}
bool switches(const struct kernel *kernel) { return kernel->cache_reset_long != NULL; }

/* key_in_cache of problem.h can look at them. */
static bool shows_keys(const struct kernel *kernel) {
    return !kernel->cross && kernel->softcap == 0 && !kernel->alibi && !kernel->relative_buckets &&
           kernel->clip_qkv == 0 && kernel->window != 1;
}
bool shows_turned_keys(const struct kernel *kernel) {
    return has_bare_rope(kernel) && shows_keys(kernel);
}
bool shows_normed_keys(const struct kernel *kernel) {
    return kernel->qk_norm && shows_keys(kernel);
}

/* A suite with targets on other machines has no native ones. */
static struct criterion_test_params parameters(bool (*applies)(const struct kernel *), bool once) {
    struct target *all = cr_malloc((kernel_count + foreign_count + 1) * sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < foreign_count && !once; i++)
        if ((!applies || applies(kernels[foreign[i].kernel])) && !foreign_lacks(&foreign[i]))
            all[count++] = (struct target){foreign[i].kernel, i};
    for (size_t i = 0; i < kernel_count && !foreign_count; i++)
        if (!applies || applies(kernels[i]))
            all[count++] = (struct target){i, once ? 0 : EVERY_ISA};
    return cr_make_param_array(struct target, all, count);
}

struct criterion_test_params each_target(bool (*applies)(const struct kernel *)) {
    return parameters(applies, false);
}

struct criterion_test_params each_kernel(bool (*applies)(const struct kernel *)) {
    return parameters(applies, true);
}

void take_turns(const struct target *targets, void (*turn)(const struct target *target)) {
    struct target one = *targets;
    char id[ID_SIZE];
    if (targets->isa != EVERY_ISA) {
        turn(targets);
        return;
    }
    for (one.isa = 0; isa_id(kernels[one.kernel], one.isa, id); one.isa++)
        if (!cpu_lacks(id)) {
            turn(&one);
            guard_release(0);
        }
}

void *expected(const struct kernel *kernel, size_t id, size_t bytes, bool *known) {
    static struct known {
        size_t id;
        bool fused;
        void *memory;
        struct known *next;
    } * first;
    for (struct known *one = first; one; one = one->next)
        if (one->id == id && one->fused == is_fused(kernel)) {
            *known = true;
            return one->memory;
        }
    struct known *added = malloc(sizeof *added);
    void *memory = malloc(bytes + 1);
    cr_assert(added && memory, "out of memory");
    *added = (struct known){id, is_fused(kernel), memory, first};
    first = added;
    *known = false;
    return memory;
}

const struct kernel *native(size_t index, bool fused) {
    const struct kernel *kernel = kernels[index];
    char id[ID_SIZE];
    for (size_t i = 0; isa_id(kernel, i, id); i++)
        if (listed(kernel->unfused, id) != fused && kernel->use_isa(id) == OK)
            return kernel;
    return NULL;
}

const struct kernel *selected(const struct target *target) {
    const struct kernel *kernel =
        foreign_count ? remote_start(&foreign[target->isa]) : kernels[target->kernel];
    char id[ID_SIZE];
    if (foreign_count)
        snprintf(id, sizeof id, "%s", foreign[target->isa].isa);
    else
        cr_assert(isa_id(kernel, target->isa, id));
    cr_assert_eq(kernel->use_isa(id), OK, "%s: use_isa(\"%s\") refuses what this CPU runs",
                 kernel->name, id);
    cr_assert_str_eq(kernel->isa(), id);
    return kernel;
}

const char *label(const struct kernel *kernel) {
    static char text[128];
    snprintf(text, sizeof text, "%s %s", kernel->name, kernel->isa());
    return text;
}

/* ---- comparing ---- */

/* The tests run in processes of their own; each appends a line here, the closing hook reads them.
 * The foreign suite may run at the same time. */
static const char *ratios(void) {
    return foreign_count ? BUILD "/ratios-foreign" : BUILD "/ratios";
}

void end_of_test(void) { cr_assert(remote_end(), "the runner did not end properly"); }

static void note(const struct kernel *kernel, const char *what, size_t n, double ratio) {
    FILE *file = fopen(ratios(), "a");
    if (!file)
        return;
    fprintf(file, "%.4f %s %s n %zu\n", ratio, label(kernel), what, n);
    fclose(file);
}

void expect_bounded(const struct kernel *kernel, const char *what, size_t n, const float *got,
                    const struct bounded *want, size_t count) {
    const struct verdict verdict = reference_check(got, want, count);
    const size_t i = verdict.at;
    cr_assert(verdict.good, "%s %s n %zu: [%zu] is %.9g, not %.9g (%.3g times the bound %.3g)",
              label(kernel), what, n, i, (double)got[i], want[i].value, verdict.ratio,
              reference_bound(want[i]));
    note(kernel, what, n, verdict.ratio);
}

bool same_float(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

void expect_same(const struct kernel *kernel, const char *what, size_t n, const float *got,
                 const float *want, size_t count) {
    if (memcmp(got, want, count * sizeof *got) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        cr_assert(same_float(got[i], want[i]), "%s %s n %zu: bits differ, [%zu] is %a, not %a",
                  label(kernel), what, n, i, (double)got[i], (double)want[i]);
}

/* ---- what the suite says before and after ---- */

static void print_skipped(void) {
    char id[ID_SIZE], said[512] = " ";
    for (size_t i = 0; i < foreign_count; i++)
        if (foreign_lacks(&foreign[i]))
            fprintf(stderr, "skipped: isa %s, kernel %s by %s (%s)\n", foreign[i].isa,
                    kernels[foreign[i].kernel]->name, foreign[i].emulator,
                    foreign_lacks(&foreign[i]));
    for (size_t i = 0; i < kernel_count && !foreign_count; i++)
        for (size_t j = 0; isa_id(kernels[i], j, id); j++) {
            char word[ID_SIZE + 2];
            snprintf(word, sizeof word, " %s ", id);
            if (!cpu_lacks(id) || strstr(said, word))
                continue;
            fprintf(stderr, "skipped: isa %s (this CPU lacks %s)\n", id, cpu_lacks(id));
            snprintf(said + strlen(said), sizeof said - strlen(said), "%s", word + 1);
        }
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests) {
    (void)tests;
    (void)remove(ratios());
    fprintf(stderr, "%zu kernels\n", kernel_count);
    for (size_t i = 0; i < foreign_count; i++)
        if (!foreign_lacks(&foreign[i]))
            fprintf(stderr, "isa %s, kernel %s by %s\n", foreign[i].isa,
                    kernels[foreign[i].kernel]->name, foreign[i].emulator);
    print_skipped();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats) {
    (void)stats;
    char line[256], most[256] = "";
    double ratio = -1;
    FILE *file = fopen(ratios(), "r");
    while (file && fgets(line, sizeof line, file))
        if (strtod(line, NULL) > ratio) {
            ratio = strtod(line, NULL);
            memcpy(most, line, sizeof most);
        }
    if (file)
        fclose(file);
    if (*most)
        fprintf(stderr, "largest error, as a share of its bound: %s", most);
    print_skipped();
}
