/* The bench itself, as a user runs it: what it writes, and that it refuses a wrong result. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT "out/check/bench"

/* `command` with its output in OUT/`name`; its exit status. */
static int shell(const char *name, const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "mkdir -p " OUT " && { %s; } >" OUT "/%s 2>&1", command, name);
    return system(line);
}

static char *text_of(const char *name) {
    static char text[1 << 16];
    char path[256];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s is not there", path);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    fclose(file);
    return text;
}

static const char *string(const json_t *row, const char *name) {
    return json_string_value(json_object_get(row, name));
}

static double number(const json_t *row, const char *name) {
    const json_t *value = json_object_get(row, name);
    cr_assert(json_is_number(value), "%s is not a number", name);
    return json_number_value(value);
}

static bool runs_avx2(void) { return system("./attnc isa | grep -q '^avx2 *runs'") == 0; }

/* ---- what it writes ---- */

static const char *const fields[] = {
    "spec",           "isa",
    "case",           "threads",
    "ms_min",         "ms_median",
    "gflops",         "share_of_peak",
    "gb_per_s",       "peer",
    "ratio",          "share_of_bandwidth",
    "share_of_bound", "flops",
    "bytes",          "share_of_pieces",
    "peak_gflops",    "code_bytes",
    "scratch_bytes",  "share_of_peak_by_medians",
    "read_gb_per_s",  "share_of_plain",
};

static void check_fields(const json_t *row) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        cr_assert(json_object_get(row, fields[i]), "%s is missing", fields[i]);
    cr_assert_eq(json_object_size(row), sizeof fields / sizeof *fields, "a field too many");
    cr_assert_str_eq(string(row, "spec"), "tiny");
    cr_assert(number(row, "ms_min") > 0 && number(row, "ms_median") >= number(row, "ms_min"));
    cr_assert(number(row, "code_bytes") > 0);
    const json_t *peak = json_object_get(row, "peak_gflops");
    if (!json_is_null(peak) && !strstr(string(row, "case"), "rotate"))
        cr_assert_float_eq(number(row, "gflops") / json_number_value(peak),
                           number(row, "share_of_peak"), 1e-6);
    if (strcmp(string(row, "case"), "project 1x20x60") == 0 && !json_is_null(peak))
        cr_assert_float_eq(number(row, "gb_per_s") / number(row, "read_gb_per_s"),
                           number(row, "share_of_bandwidth"), 1e-6);
}

/* Counted one by one: scores and values of what each row sees, four projections. */
static double counted_flops(size_t pos, size_t n, bool projections) {
    enum { WIDTH = 20, HEADS = 6, KV_HEADS = 2, HEAD_DIM = 10, V_HEAD_DIM = 7 };
    const size_t outputs = HEADS * HEAD_DIM + KV_HEADS * (HEAD_DIM + V_HEAD_DIM);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= pos + i; j++)
            sum += HEADS * (2 * HEAD_DIM + 2 * V_HEAD_DIM);
        if (projections)
            sum += 2.0 * WIDTH * (double)(outputs + HEADS * V_HEAD_DIM);
    }
    return sum;
}

static double expected_flops(const char *name) {
    static const struct {
        const char *name;
        size_t pos, n;
        bool projections;
    } rows[] = {{"layer 37", 0, 37, true},
                {"layer 37: attend", 0, 37, false},
                {"layer decode 37", 36, 1, true},
                {"layer decode 37: attend", 36, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return counted_flops(rows[i].pos, rows[i].n, rows[i].projections);
    if (strcmp(name, "project 37x20x60") == 0)
        return 2.0 * 37 * 20 * 60;
    return NAN;
}

/* The table has a line with the same numbers. */
static void check_table(const char *table, const json_t *row) {
    char start[64], numbers[64];
    if (number(row, "threads") > 1)
        return;
    snprintf(start, sizeof start, "\n  %-30s %-8s ", string(row, "case"), string(row, "isa"));
    const char *line = strstr(table, start);
    cr_assert(line, "the table lacks%s", start);
    int size = snprintf(numbers, sizeof numbers, "%9.4f %9.4f", number(row, "ms_min"),
                        number(row, "ms_median"));
    if (json_is_number(json_object_get(row, "gflops")))
        snprintf(numbers + size, sizeof numbers - (size_t)size, " %8.1f", number(row, "gflops"));
    cr_assert(strncmp(line + strlen(start), numbers, strlen(numbers)) == 0,
              "the table does not say %s in%.*s", numbers, (int)strcspn(line + 1, "\n") + 1, line);
}

Test(bench, writes_what_it_says, .timeout = 120) {
    json_error_t error;
    size_t i, checked = 0;
    json_t *row;
    (void)remove(OUT "/bench.json");
    cr_assert_eq(
        shell("table", "./attnc bench tests/bench/tiny.lua -- --all --seconds 0 --out " OUT), 0,
        "%s", text_of("table"));
    json_t *rows = json_load_file(OUT "/bench.json", 0, &error);
    cr_assert(json_is_array(rows), "%s", error.text);
    const char *table = text_of("table");
    json_array_foreach(rows, i, row) {
        check_fields(row);
        check_table(table, row);
        const double flops = expected_flops(string(row, "case"));
        if (isnan(flops))
            continue;
        checked++;
        cr_assert_float_eq(number(row, "flops"), flops, 0.5, "%s: %.0f FLOPs, not %.0f",
                           string(row, "case"), number(row, "flops"), flops);
        cr_assert_float_eq(number(row, "gflops"), flops / number(row, "ms_min") * 1e-6,
                           1e-6 * number(row, "gflops"));
    }
    cr_assert(checked >= 5, "only %zu known cases", checked);
    json_decref(rows);
}

static const struct {
    const char *spec, *name;
    bool has_plain;
    double flops; /* 2 for each channel of q, k, v; of weights and rows */
} cases[] = {
    {"pair_plain", "prefill 37", false, 37 * 37 * 3 * 40},
    {"pair_bias", "prefill 37", true, 37 * 37 * 3 * 40},
    {"pair_bias", "prefill 37, biases", true, 37 * 37 * 3 * 40},
    {"pair_bias", "prefill 37, causal biases", true, 37 * 38 / 2 * 3 * 40},
    {"pair_block", "whole block 37", false, 37 * 38 / 2 * 2 * 40 + 37 * 2 * 20 * (4 * 20 + 3 * 33)},
    {"pair_block", "whole block decode 37", false, 37 * 2 * 40 + 2 * 20 * (4 * 20 + 3 * 33)},
};
enum { CASES = sizeof cases / sizeof *cases };

/* CASES: none of them. */
static size_t case_of(const json_t *row) {
    size_t i = 0;
    while (i < CASES && (strcmp(cases[i].spec, string(row, "spec")) != 0 ||
                         strcmp(cases[i].name, string(row, "case")) != 0))
        i++;
    return i;
}

/* A kernel with biases beside the same without: which rows say so, and what each input shows. And a
 * block. */
Test(bench, compares_with_the_plain, .timeout = 120) {
    json_error_t error;
    size_t i, found[CASES] = {0};
    json_t *row;
    (void)remove(OUT "/pair/bench.json");
    cr_assert_eq(shell("pair_log",
                       "env -u MAKEFLAGS make run-bench BENCH_SPECS='tests/bench/pair-plain.lua "
                       "tests/bench/pair-bias.lua tests/bench/pair-block.lua' "
                       "SUITE_OUT=out/check/bench-pair BENCH_OUT=" OUT
                       "/pair BENCH_ARGS='--all --seconds 0'"),
                 0, "%s", text_of("pair_log"));
    json_t *rows = json_load_file(OUT "/pair/bench.json", 0, &error);
    cr_assert(json_is_array(rows), "%s", error.text);
    json_array_foreach(rows, i, row) {
        const size_t at = case_of(row);
        if (at >= CASES)
            continue;
        cr_assert_float_eq(number(row, "flops"), cases[at].flops, 0.5, "%s: %.0f FLOPs, not %.0f",
                           cases[at].name, number(row, "flops"), cases[at].flops);
        if (cases[at].has_plain && number(row, "threads") < 2)
            cr_assert(number(row, "share_of_plain") > 0);
        else
            cr_assert(json_is_null(json_object_get(row, "share_of_plain")));
        found[at]++;
    }
    for (i = 0; i < CASES; i++)
        cr_assert(found[i] > 0, "%s %s is missing", cases[i].spec, cases[i].name);
    json_decref(rows);
}

Test(bench, writes_json_alone, .timeout = 120) {
    json_error_t error;
    cr_assert_eq(shell("json", "./attnc bench tests/bench/tiny.lua --json --isa scalar -- --all "
                               "--seconds 0 --case project 2>/dev/null"),
                 0);
    json_t *rows = json_loads(text_of("json"), 0, &error);
    cr_assert(rows, "%s", error.text);
    cr_assert_eq(json_array_size(rows), 2);
    json_decref(rows);
}

Test(bench, refuses_bad_arguments, .timeout = 120) {
    cr_assert_neq(shell("usage", "./attnc bench tests/bench/tiny.lua --isa scalar -- --nonsense"),
                  0);
    cr_assert(strstr(text_of("usage"), "usage: "));
}

/* ---- what it refuses ---- */

/* The bench with templates in which `file` was changed by `edit`. */
static void expect_refused(const char *name, const char *file, const char *edit, const char *why) {
    char command[1024];
    snprintf(command, sizeof command,
             "d=" OUT "/%s.d && rm -rf $d && mkdir -p $d/out && cp -r templates $d && "
             "sed -i '%s' $d/templates/%s && ! cmp -s templates/%s $d/templates/%s && "
             "./attnc bench tests/bench/tiny.lua --templates $d/templates -- --all --seconds 0 "
             "--out $d/out",
             name, edit, file, file, file);
    cr_assert_neq(shell(name, command), 0, "a wrong kernel passes");
    cr_assert(strstr(text_of(name), why), "%s", text_of(name));
    snprintf(command, sizeof command, "ls " OUT "/%s.d/out", name);
    cr_assert_eq(shell("written", command), 0);
    cr_assert_str_empty(text_of("written"), "something was written");
}

Test(bench, refuses_other_bits, .timeout = 120) {
    if (runs_avx2())
        expect_refused("bits", "isa/avx2.lua",
                       "s/_mm256_fmadd_ps(\\(.*\\), \\(.*\\), \\(.*\\))/"
                       "_mm256_add_ps(_mm256_mul_ps(\\1, \\2), \\3)/",
                       "refused, its bits are not those of another instruction set");
}

Test(bench, refuses_wrong_values, .timeout = 120) {
    expect_refused("values", "kernel/exp.t", "s/0x1.62e424p-1/0x1.62p-1/",
                   "where plain loops give");
}
