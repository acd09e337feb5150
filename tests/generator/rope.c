/* The rotary angles that are written, against tables made elsewhere (tests/data/frequencies.json).
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* The text after the next `mark`, or the end of the test. */
static const char *after(const char *text, const char *mark, const char *id) {
    const char *found = text ? strstr(text, mark) : NULL;
    cr_assert(found, "%s: nothing written has '%s'", id, mark);
    return found + strlen(mark);
}

static void expect_near(double got, double want, double tolerance, const char *id, size_t i) {
    cr_expect_leq(fabs(got / want - 1), tolerance, "%s: number %zu is %.12g, not %.12g", id, i, got,
                  want);
}

/* Turns are written as 64-bit fractions of a circle, in order, right after the first brace. */
static void check_turns(const char *code, const json_t *wanted, const char *id) {
    const double circle = 8 * atan(1);
    const char *at = after(code, "/* turns per position", id);
    const char *end = strstr(at, "};");
    size_t i;
    json_t *want;
    json_array_foreach(wanted, i, want) {
        at = after(at, "UINT64_C(", id);
        cr_assert_lt(at, end, "%s: only %zu turns", id, i);
        const double turn = (double)strtoull(at, NULL, 10) / 0x1p64;
        /* the tables have ten or fifteen digits, and a small turn's fraction has few */
        expect_near(turn * circle, json_number_value(want), 1e-9, id, i);
    }
    at = strstr(at, "UINT64_C(");
    cr_expect(!at || at > end, "%s: more than %zu turns", id, json_array_size(wanted));
}

/* A factor is written as a whole number of units of 2^-bits, and only if it is not 1. */
static void check_factor(const char *code, double want, const char *id) {
    const char *at = strstr(code, "const int64_t factor = INT64_C(");
    if (want == 1) {
        cr_expect_null(at, "%s: a factor of 1 is written", id);
        return;
    }
    const char *bits = after(after(code, "const int64_t factor = INT64_C(", id), "2^-", id);
    const double units = (double)strtoll(strchr(at, '(') + 1, NULL, 10);
    expect_near(ldexp(units, -(int)strtol(bits, NULL, 10)), want, 1e-14, id, 0);
}

Test(rope, angles_are_those_of_the_definition) {
    enter();
    char path[4200], text[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/tests/data/frequencies.json", project);
    json_t *cases = json_load_file(path, 0, &error), *in;
    cr_assert(cases, "%s:%d: %s", path, error.line, error.text);
    cr_assert_gt(json_array_size(cases), 0);
    size_t index;
    json_array_foreach(cases, index, in) {
        const char *id = json_string_value(json_object_get(in, "id"));
        snprintf(text, sizeof text, "return { name = 't', heads = 1, isa = 'scalar', %s }\n",
                 json_string_value(json_object_get(in, "spec")));
        write_text("spec.lua", text);
        const struct run *run = attnc("spec.lua", "-o", "out");
        cr_assert_eq(run->status, 0, "%s: %s", id, run->err);
        char *code = read_text("out/t_scalar.c");
        cr_assert(code, "%s: no code", id);
        check_turns(code, json_object_get(in, "frequencies"), id);
        check_factor(code, json_number_value(json_object_get(in, "attention_factor")), id);
        free(code);
        remove_tree("out");
    }
    json_decref(cases);
}
