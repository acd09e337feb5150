/* What attnc writes, and how: determinism, whole or not at all, verify, info, check. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

static const char good[] = "return {\n  name = 'tiny', d_model = 16, heads = 4, kv_heads = 2,\n"
                           "  max_seq = 40, causal = true, isa = { 'avx2', 'scalar' },\n}\n";

static void expect_done(const struct run *run) {
    cr_expect_eq(run->status, 0, "status %d: %s", run->status, run->err);
    cr_expect_str_empty(run->err);
}

static void copy_file(const char *from, const char *to) {
    char *text = read_text(from);
    cr_assert_not_null(text, "%s", from);
    write_text(to, text);
    free(text);
}

static void other_surroundings(void) {
    if (chdir("elsewhere") != 0)
        _exit(125);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("LANG", "tr_TR.UTF-8", 1);
    setenv("TZ", "Pacific/Kiritimati", 1);
    setenv("HOME", "/nonexistent", 1);
    setenv("USER", "somebody", 1);
    setenv("SOURCE_DATE_EPOCH", "1", 1);
    unsetenv("PATH");
    umask(077);
}

/* Every shipped spec, from two directories in two locales: the same bytes, and verify agrees. */
Test(files, the_same_spec_gives_the_same_bytes) {
    enter();
    char pattern[4200];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/specs/*.lua", project);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no specs");
    cr_assert_eq(mkdir("elsewhere", 0777), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        char copy[4200];
        snprintf(copy, sizeof copy, "elsewhere/%s", strrchr(path, '/') + 1);
        copy_file(path, copy);
        expect_done(attnc(path, "-o", "a"));
        expect_done(attnc_in(other_surroundings, copy + 10, "-o", "../b/c/"));
        cr_expect(same_files("a", "b/c"), "%s differs", path);
        remove_tree("a");
        remove_tree("b");
    }
    globfree(&found);
}

Test(files, unchanged_files_are_left_alone) {
    enter();
    struct stat before, after;
    write_text("spec.lua", good);
    const struct run *run = attnc("spec.lua");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "out/tiny/tiny_avx2.c "), "%s", run->out);
    cr_expect_null(strstr(run->out, "unchanged"));
    cr_assert_eq(count_files("out/tiny"), 7);
    static const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, "out/tiny/tiny_avx2.c", old, 0), 0);
    cr_assert_eq(stat("out/tiny/tiny_avx2.c", &before), 0);
    run = attnc("spec.lua");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "unchanged"));
    cr_assert_eq(stat("out/tiny/tiny_avx2.c", &after), 0);
    cr_expect_eq(before.st_ino, after.st_ino);
    cr_expect_eq(after.st_mtime, 1000);
    expect_done(attnc("spec.lua", "--set", "max_seq=41"));
    cr_assert_eq(stat("out/tiny/tiny_avx2.c", &after), 0);
    cr_expect_gt(after.st_mtime, 1000);
}

Test(files, stale_files_go_and_foreign_ones_stay) {
    enter();
    write_text("spec.lua", good);
    expect_done(attnc("spec.lua", "-o", "x"));
    write_text("x/tiny_mine.c", "int mine;\n");
    expect_done(attnc("spec.lua", "-o", "y", "--set", "name=tiny_two"));
    cr_assert_eq(rename("y/tiny_two_avx2.c", "x/tiny_two_avx2.c"), 0);
    const struct run *run = attnc("spec.lua", "-o", "x", "--isa", "scalar");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "x/tiny_avx2.c  removed"), "%s", run->out);
    cr_expect_eq(access("x/tiny_avx2.c", F_OK), -1);
    cr_expect_eq(access("x/tiny_two_avx2.c", F_OK), 0);
    cr_expect_eq(access("x/tiny_mine.c", F_OK), 0);
    expect_done(attnc("spec.lua", "-o", "x", "--single-file"));
    cr_expect_eq(access("x/tiny_scalar.c", F_OK), -1);
    cr_expect_eq(access("x/tiny_dispatch.c", F_OK), -1);
}

static void small_files(void) {
    struct rlimit limit = {20000, 20000};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void expect_failure(const struct run *run, const char *word) {
    cr_expect_eq(run->status, 1, "status %d: %s", run->status, run->err);
    cr_expect_not_null(strstr(run->err, word), "no '%s' in: %s", word, run->err);
    cr_expect_str_empty(run->out);
}

Test(files, written_whole_or_not_at_all) {
    enter();
    write_text("spec.lua", good);
    expect_failure(attnc_in(small_files, "spec.lua", "-o", "new/x"), "File too large");
    cr_expect_eq(count_files("new"), -1, "a directory was left behind");
    expect_done(attnc("spec.lua", "-o", "x"));
    expect_done(attnc("spec.lua", "-o", "y"));
    expect_failure(attnc_in(small_files, "spec.lua", "-o", "x", "--set", "heads=2"), "large");
    cr_expect(same_files("x", "y"), "a failed run changed files");

    expect_failure(attnc("spec.lua", "-o", "spec.lua"), "not a directory");
    expect_failure(attnc("spec.lua", "-o", "spec.lua/x"), "not a directory");
    cr_assert_eq(mkdir("z", 0777), 0);
    write_text("z/CMakeLists.txt", "project(mine)\n");
    expect_failure(attnc("spec.lua", "-o", "z"), "z/CMakeLists.txt: is in the way");
    cr_expect_eq(count_files("z"), 1);
    char *text = read_text("z/CMakeLists.txt");
    cr_expect_str_eq(text, "project(mine)\n");
    free(text);
    expect_failure(attnc("spec.lua", "-o", "x", "--set", "name=tiny_two"),
                   "x/CMakeLists.txt: is in the way: attnc wrote it for another kernel");
    cr_expect(same_files("x", "y"), "a second kernel changed files");
    cr_assert_eq(mkdir("w", 0777), 0);
    cr_assert_eq(mkdir("w/tiny.h", 0777), 0);
    expect_failure(attnc("spec.lua", "-o", "w"), "w/tiny.h: is in the way");
    cr_expect_eq(count_files("w"), 1);
}

static void full_output(void) {
    if (freopen("/dev/full", "w", stdout) == NULL)
        _exit(125);
}

Test(files, a_full_standard_output_is_a_failure) {
    enter();
    write_text("spec.lua", good);
    expect_failure(attnc_in(full_output, "info", "spec.lua"), "standard output");
    expect_failure(attnc_in(full_output, "--version"), "standard output");
}

static void edit(const char *path, const char *from, const char *to) {
    char *text = read_text(path);
    cr_assert_not_null(text);
    char *place = strstr(text, from);
    cr_assert(place != NULL && strlen(from) == strlen(to), "%s", path);
    for (; *to != 0; to++)
        *place++ = *to;
    write_text(path, text);
    free(text);
}

Test(files, verify_tells_what_happened) {
    enter();
    static const struct {
        const char *path, *from, *to;
    } kinds[] = {
        {"x/tiny.h", "#define TINY_HEADS 4", "#define TINY_HEADS 5"},
        {"x/tiny_avx2.c", "static", "statik"},
        {"x/tiny.json", "\"heads\": 4", "\"heads\": 5"},
        {"x/CMakeLists.txt", "add_library", "add_librery"},
    };
    write_text("a spec.lua", good);
    for (int single = 0; single < 2; single++) {
        const char *extra = single ? "--single-file" : NULL;
        expect_done(attnc("a spec.lua", "-o", "x", "--set", "rope.theta=1e4", "--isa",
                          "scalar,avx2", extra));
        for (size_t i = 0; i < 4; i++) {
            if (single && i == 1)
                continue;
            const struct run *run = attnc("verify", kinds[i].path);
            cr_expect_eq(run->status, 0, "%s", run->out);
            cr_expect_not_null(strstr(run->out, ": unchanged\n"), "%s", run->out);

            edit(kinds[i].path, kinds[i].from, kinds[i].to);
            run = attnc("verify", kinds[i].path);
            cr_expect_eq(run->status, 1, "%s", kinds[i].path);
            cr_expect_not_null(strstr(run->out, "edited by hand"), "%s", run->out);
            edit(kinds[i].path, kinds[i].to, kinds[i].from);

            edit(kinds[i].path, "0.1.0", "0.0.9");
            run = attnc("verify", kinds[i].path);
            cr_expect_eq(run->status, 1, "%s", kinds[i].path);
            cr_expect_not_null(strstr(run->out, "by another version (0.0.9"), "%s", run->out);
            edit(kinds[i].path, "0.0.9", "0.1.0");
        }
    }
    expect_done(attnc("a spec.lua", "-o", "x"));
    edit("x/tiny.h", "#define TINY_HEADS 4", "#define TINY_HEADS 5");
    char *text = read_text("x/tiny.h");
    int line = 1;
    for (const char *at = text; at < strstr(text, "TINY_HEADS 5"); at++)
        line += *at == '\n';
    free(text);
    char expected[64];
    snprintf(expected, sizeof expected, "edited by hand: first differing line %d\n", line);
    const struct run *run = attnc("verify", "x/tiny_avx2.c", "x/tiny.h");
    cr_expect_eq(run->status, 1);
    cr_expect_not_null(strstr(run->out, expected), "%s", run->out);
    cr_expect_not_null(strstr(run->out, "x/tiny_avx2.c: unchanged"), "%s", run->out);
    cr_expect_eq(rename("x/tiny_avx2.c", "x/other.c"), 0);
    cr_expect_eq(attnc("verify", "x/other.c")->status, 1);
    cr_expect_eq(attnc("verify", "a spec.lua")->status, 2);
    cr_expect_eq(attnc("verify", "none.c")->status, 2);
}

Test(files, verify_knows_line_endings_and_broken_json) {
    enter();
    write_text("spec.lua", good);
    expect_done(attnc("spec.lua", "-o", "x"));
    static const char *const paths[] = {"x/tiny.h", "x/tiny.json", "x/CMakeLists.txt"};
    for (size_t i = 0; i < 3; i++) {
        char *text = read_text(paths[i]);
        cr_assert_not_null(text);
        FILE *file = fopen(paths[i], "wb");
        cr_assert_not_null(file);
        for (const char *at = text; *at != 0; at++)
            fprintf(file, *at == '\n' ? "\r%c" : "%c", *at);
        cr_assert_eq(fclose(file), 0);
        const struct run *run = attnc("verify", paths[i]);
        cr_expect_eq(run->status, 1, "%s: %s", paths[i], run->out);
        cr_expect_not_null(strstr(run->out, "edited by hand: line endings changed\n"), "%s",
                           run->out);
        write_text(paths[i], text);
        free(text);
    }
    edit("x/tiny.json", "{", "[");
    const struct run *run = attnc("verify", "x/tiny.json");
    cr_expect_eq(run->status, 1, "%s", run->out);
    cr_expect_not_null(strstr(run->out, "edited by hand"), "%s", run->out);
}

/* What names the command is safe in a comment, and UTF-8. */
Test(files, the_recorded_command_is_harmless) {
    enter();
    write_text("\xff\xc3\xa4.lua", good);
    expect_done(attnc("\xff\xc3\xa4.lua", "-o", "x", "--set", "heads=8", "--set",
                      "rope={layout='*/\\n'}", "--set", "rope.layout=half", "--set", "heads=4"));
    char *text = read_text("x/tiny.h");
    cr_assert_not_null(text);
    cr_expect_not_null(strstr(text, "attnc '?\xc3\xa4.lua' --set 'rope={ layout = \"?/\\010\" }' "
                                    "--set rope.layout=half --set heads=4\n"),
                       "%.300s", text);
    free(text);
    const struct run *run = attnc("verify", "x/tiny.h", "x/tiny.json");
    cr_expect_eq(run->status, 0, "%s", run->out);
}

/* Standard input is a pipe whose writer takes its time. */
static void slow_pipe(void) {
    int ends[2];
    if (pipe(ends) != 0)
        _exit(125);
    if (fork() == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        _exit(write(ends[1], good, sizeof good - 1) != sizeof good - 1);
    }
    if (dup2(ends[0], STDIN_FILENO) < 0 || close(ends[0]) != 0 || close(ends[1]) != 0)
        _exit(125);
}

Test(files, specs_come_from_pipes_and_with_a_byte_order_mark) {
    enter();
    char text[512];
    expect_done(attnc_in(slow_pipe, "info", "/dev/stdin"));
    snprintf(text, sizeof text, "\xef\xbb\xbf%s", good);
    write_text("spec.lua", text);
    expect_done(attnc("info", "spec.lua"));
}

/* The spec inside a written file gives the same files again, whatever fields it has. */
Test(files, every_shape_of_spec_survives_the_round_trip) {
    enter();
    static const char *const sets[] = {
        "emit=attention",
        "v_head_dim=7",
        "scale=0.3",
        "qkv_bias=true",
        "o_bias=true",
        "heads=1",
        "weights_layout=in_out",
        "unroll=2",
        "rope={rotary_dim=2, layout='interleaved'}",
        "tile={query_rows=12}",
        "block={norm='layernorm', ffn=12, act='gelu', norm_bias=false}",
        ("block={norm='rmsnorm', place='parallel', parallel_norms=2, eps=1e-4, unit_offset=true, "
         "norm_bias=true, ffn=12, act='silu', gated=true, bias=true, residual_multiplier=0.5}"),
        "causal=false",
        "d_model=24",
        "qk_norm={type='rmsnorm', width='full', unit_offset=true}",
        "qk_norm={type='layernorm', bias=true, weights='per_head', order='after_rope', eps=0.5}",
        "rope={offset=3, scaling={type='linear', factor=2}}",
        ("rope={scaling={type='yarn', factor=4, mscale=1, mscale_all_dim=0.5, "
         "original_max_position_embeddings=8, truncate=false}}"),
        ("rope={scaling={type='longrope', factor=4, original_max_position_embeddings=8, "
         "short_factor={1, 1.5}, long_factor={2, 3}}}"),
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        write_text("spec.lua", "return { name = 'tiny', heads = 4, kv_heads = 1, head_dim = 4,\n"
                               "  max_seq = 40, isa = 'scalar' }\n");
        expect_done(attnc("spec.lua", "-o", "x", "--set", sets[i]));
        const struct run *run = attnc("verify", "x/tiny.h", "x/tiny_scalar.c");
        cr_expect_eq(run->status, 0, "%s: %s", sets[i], run->out);
    }
}

Test(files, latent_attention_survives_the_round_trip) {
    enter();
    static const char *const sets[] = {"mla.q_rank=5",
                                       "mla.expand=7",
                                       "mla.eps=0.5",
                                       "weights_layout=in_out",
                                       "sinks=true",
                                       "seq=30",
                                       "block={norm='rmsnorm',ffn=9,act='silu'}"};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        write_text("spec.lua", "return { name = 'tiny', heads = 2, d_model = 12, isa = 'scalar',\n"
                               "  causal = true, rope = {}, v_head_dim = 3,\n"
                               "  mla = { kv_rank = 6, nope_dim = 4, rope_dim = 2 } }\n");
        expect_done(attnc("spec.lua", "-o", "x", "--set", sets[i], "--set",
                          strcmp(sets[i], "seq=30") == 0 ? "o_bias=true" : "max_seq=40"));
        const struct run *run = attnc("verify", "x/tiny.h", "x/tiny_scalar.c", "x/tiny_dispatch.c");
        cr_expect_eq(run->status, 0, "%s: %s", sets[i], run->out);
    }
}

/* The header of a spec with many arguments, a long name and no rope. */
Test(files, headers_say_what_there_is) {
    enter();
    write_text("spec.lua",
               "return { name = 'a_name_that_is_rather_long', heads = 2, head_dim = 8,\n"
               "  max_seq = 700, window = 9, window_right = 3, cache = 'ring', isa = 'scalar',\n"
               "  lse = true, key_range = true, mask = { type = 'bias', heads = 'each' },\n"
               "  alibi = true, emit = 'layer' }\n");
    expect_done(attnc("spec.lua", "-o", "x"));
    char *text = read_text("x/a_name_that_is_rather_long.h");
    cr_assert_not_null(text);
    static const char *const there[] = {
        "[n_q][bias_stride]: row i is query i's, of its n_kv keys",
        "[n][bias_stride]: row i is query i's, column j is of the key at position j (overwritten",
        "at least n_kv, or RANGE",
        "at least the positions from 0 to the last one written, or RANGE",
        "at least pos + n, or RANGE",
        "y = Wo attention(Wq x, Wk x, Wv x)",
        "reads KV head h\n",
        "at most 16777215",
    };
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        cr_expect_not_null(strstr(text, there[i]), "no '%s'", there[i]);
    cr_expect_null(strstr(text, "rope("));
    char *state = NULL, *begin = strstr(text, " */\n"); /* of the head, whose spec has long lines */
    cr_assert_not_null(begin);
    for (char *line = strtok_r(begin, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        const size_t length = strlen(line);
        cr_expect_neq(line[length - 1], ' ', "blank at the end: %s", line);
        cr_expect(length <= 120 || line[0] == '#' || line[length - 1] == '\\', "long: %s", line);
    }
    free(text);
}

Test(files, isa_and_set_override_the_spec) {
    enter();
    write_text("spec.lua", good);
    expect_done(attnc("spec.lua", "-o", "a", "--isa", "scalar"));
    cr_expect_eq(count_files("a"), 6);
    expect_done(attnc("spec.lua", "-o", "b", "--set", "isa=scalar"));
    expect_done(attnc("spec.lua", "-o", "c", "--isa", " native"));
    cr_expect_eq(access("c/tiny_scalar.c", F_OK), 0);
    expect_done(attnc("spec.lua", "-o", "d", "--isa", "avx512,avx2,scalar"));
    char *text = read_text("d/tiny.h");
    cr_expect_not_null(strstr(text, "\"scalar avx2 avx512\""));
    cr_expect_not_null(strstr(text, "attnc spec.lua --isa avx512,avx2,scalar\n"));
    free(text);
    expect_done(attnc("spec.lua", "-o", "e", "--set", "max_seq=0x20"));
    text = read_text("e/tiny.h");
    cr_expect_not_null(strstr(text, "--set max_seq=32\n"));
    cr_expect_not_null(strstr(text, "#define TINY_CAPACITY 32"));
    free(text);
}

Test(files, templates_can_be_replaced) {
    enter();
    char path[4200];
    write_text("spec.lua", good);
    snprintf(path, sizeof path, "%s/templates", project);
    expect_done(attnc("spec.lua", "-o", "a"));
    expect_done(attnc("spec.lua", "-o", "b", "--templates", path));
    cr_expect(same_files("a", "b"));
}

/* Each mistake in an instruction set's table is refused with the table's file, the set and the
 * field. NEON's table stands for all, with one text in it replaced. */
Test(files, faults_in_tables_of_sets_are_named) {
    enter();
    static const struct {
        const char *old, *new, *said;
    } faults[] = {
        {"registers = 32,", "", "lacks 'registers'"},
        {"registers = 32,", "registers = '32',", "has 'registers' = 32: right is a number"},
        {"fused = true,", "", "lacks 'fused'"},
        {"header = ", "heading = ", "has a field that nothing reads, 'heading'"},
        {"score_rows = 5,", "", "lacks 'tiles.score_rows'"},
        {"row_vectors = 8,", "row_vector = 8,", "nothing reads, 'tiles.row_vector'"},
        {"score_rows = 5,", "score_rows = 8,",
         "take 34 registers with an operand and a broadcast, of 32"},
        {"score_vectors = 4,", "score_vectors = 3,",
         "set 'neon' has tiles.score_vectors = 3: 4 lanes of neon make 12 keys"},
        {"lanes = 4,", "lanes = 3,", "lanes that do not divide 16"},
        {"run = \"", "ran = \"", "nothing reads, 'test.ran'"},
        {"run = \"qemu-aarch64 -cpu max\",", "", "has no test"},
        {"id = \"neon\"", "id = \"vxe\"", "is there twice"},
        {"id = \"neon\"", "id = \"ne on\"", "files and symbols of C cannot bear"},
        {"order = 40,", "order = 70,", "the order of 'neon', 70"},
        {"\"aarch64\"", "\"aarch65\"", "an architecture that gen/cpu.lua lacks, 'aarch65'"},
        {"{ \"asimd\" }", "{ \"simd\" }", "a feature that gen/cpu.lua lacks for aarch64, 'simd'"},
        {"sqrt = ", "root = ", "lacks the operation 'sqrt'"},
        {"zero_below = ", "zero_under = ", "lacks zero_below"},
        {"div = ", "divided = \"\", div = ", "no template uses, 'divided'"},
        {"transpose = ", "transposed = ", "no template uses, 'transposed'"},
        {"vsqrtq_f32($1)", "vsqrtq_f32($2)", "has 'sqrt' with $2, of 1 arguments"},
        {"$below(", "$under(", "calls in 'select_first' what it lacks, '$under'"},
    };
    char path[4200], command[8600];
    snprintf(path, sizeof path, "%s/templates/isa/neon.lua", project);
    char *table = read_text(path);
    snprintf(command, sizeof command, "cp -r '%s/templates' templates", project);
    cr_assert_eq(system(command), 0);
    write_text("spec.lua", good);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *at = strstr(table, faults[i].old);
        cr_assert_not_null(at, "%s", faults[i].old);
        char faulty[16000];
        snprintf(faulty, sizeof faulty, "%.*s%s%s", (int)(at - table), table, faults[i].new,
                 at + strlen(faults[i].old));
        write_text("templates/isa/neon.lua", faulty);
        const struct run *run =
            attnc("spec.lua", "-o", "out", "--isa", "neon", "--templates", "templates");
        cr_expect_eq(run->status, 1, "%s: status %d", faults[i].new, run->status);
        cr_expect_not_null(strstr(run->err, "templates/isa"), "%s", run->err);
        cr_expect_not_null(strstr(run->err, faults[i].said), "%s: %s", faults[i].said, run->err);
        cr_expect_eq(count_files("out"), -1);
    }
    free(table);
}

static json_int_t integer(const json_t *root, const char *group, const char *name) {
    const json_t *value = json_object_get(json_object_get(root, group), name);
    cr_expect(json_is_integer(value), "%s.%s", group, name);
    return json_integer_value(value);
}

Test(files, info_counts_what_the_paper_counts) {
    enter();
    json_error_t error;
    write_text("spec.lua", "return { name = 'base', d_model = 512, heads = 8, max_seq = 64,\n"
                           "  isa = 'scalar' }\n");
    const struct run *run = attnc("info", "spec.lua", "--json");
    expect_done(run);
    json_t *root = json_loads(run->out, 0, &error);
    cr_assert_not_null(root, "%s", error.text);
    static const char *const matrices[] = {"wq", "wk", "wv", "wo"};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(integer(root, "parameters", matrices[i]), 512 * 512);
    cr_expect_eq(integer(root, "parameters", "total"), 1048576);
    cr_expect_eq(integer(root, "flops", "prefill"),
                 2 * 64 * 1048576LL + 2LL * 8 * 64 * 64 * (64 + 64));
    cr_expect_eq(integer(root, "flops", "decode"), 2 * 1048576LL + 2LL * 8 * 64 * (64 + 64));
    const json_t *cache = json_object_get(root, "kv_cache");
    static const int kv_heads[] = {8, 4, 2, 1};
    static const char *const kinds[] = {"MHA", "GQA", "GQA", "MQA"};
    cr_assert_eq(json_array_size(cache), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(cache, i);
        cr_expect_eq(json_integer_value(json_object_get(row, "kv_heads")), kv_heads[i]);
        cr_expect_str_eq(json_string_value(json_object_get(row, "kind")), kinds[i]);
        cr_expect_eq(json_is_true(json_object_get(row, "this_spec")), i == 0);
        cr_expect_eq(json_integer_value(json_object_get(row, "bytes_per_position")),
                     kv_heads[i] * 128 * 4);
    }
    json_decref(root);

    run = attnc("info", "spec.lua", "--set", "emit=attention", "--json");
    expect_done(run);
    root = json_loads(run->out, 0, &error);
    cr_assert_not_null(root, "%s", error.text);
    const json_t *pool = json_object_get(json_object_get(root, "bytes"), "scratch_by_pool");
    json_int_t base = json_integer_value(json_object_get(pool, "base"));
    json_int_t per_thread = json_integer_value(json_object_get(pool, "per_thread"));
    cr_expect_eq(base, 8 * 64 * 128 * 4); /* keys and values of all heads */
    cr_expect_eq(per_thread, integer(root, "bytes", "scratch_per_thread"));
    json_decref(root);
    char sum[64];
    snprintf(sum, sizeof sum, "%lld + N * %lld\n", (long long)base, (long long)per_thread);
    run = attnc("info", "spec.lua", "--set", "emit=attention");
    cr_expect_not_null(strstr(run->out, sum), "no '%s' in: %s", sum, run->out);

    run = attnc("info", "spec.lua");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "1048576"));
    cr_expect_not_null(strstr(run->out, "########################################   100 %"));
    cr_expect_eq(count_files("out"), -1);
}

Test(files, help_names_every_field) {
    enter();
    static const char *const words[] = {"name",    "kv_heads",    "rotary_dim",
                                        "max_seq", "unroll",      "Not supported yet",
                                        "softcap", "long_factor", "types"};
    const struct run *run = attnc("help", "spec");
    expect_done(run);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(run->out, words[i]), "%s", words[i]);
    expect_done(attnc("--help"));
    run = attnc("isa");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "scalar         runs on this CPU"), "%s", run->out);
    run = attnc("isa", "--json");
    expect_done(run);
    cr_expect_not_null(strstr(run->out, "\"runs_here\": true"), "%s", run->out);
    expect_done(attnc("--version"));
}

static void odd_compiler(void) {
    setenv("CC", "cc -std=c99", 1);
    setenv("CFLAGS", "-O1  -Wall\t-DX=$(touch,pwned);touch${IFS}pwned", 1);
    setenv("TMPDIR", "tmp", 1);
}

static void coverage(void) {
    setenv("CFLAGS", "-O1 --coverage", 1);
    setenv("TMPDIR", "tmp", 1);
}

static void no_compiler(void) {
    setenv("CC", "no-such-compiler", 1);
    setenv("TMPDIR", "tmp", 1);
}

static void broken_compiler(void) {
    setenv("CC", "cc -include no-such-header.h", 1);
    setenv("TMPDIR", "tmp", 1);
}

Test(files, check_builds_and_runs) {
    enter();
    write_text("spec.lua", good);
    cr_assert_eq(mkdir("tmp", 0777), 0);
    const struct run *run = attnc_in(odd_compiler, "check", "spec.lua", "--isa", "scalar");
    cr_expect_eq(run->status, 0, "%s%s", run->out, run->err);
    cr_expect_not_null(strstr(run->out, "compile tiny_scalar.c"));
    cr_expect_not_null(strstr(run->out, "run     scalar"));
    cr_expect_not_null(strstr(run->out, " passed, 0 failed, 0 skipped\n"), "%s", run->out);
    run = attnc_in(odd_compiler, "check", "spec.lua", "--isa", "vxe");
    cr_expect_eq(run->status, 1, "nothing ran");
    cr_expect_not_null(strstr(run->out, "0 passed, 0 failed, 1 skipped: nothing ran\n"), "%s",
                       run->out);
    run = attnc_in(coverage, "check", "spec.lua", "--isa", "scalar");
    cr_expect_eq(run->status, 0, "%s%s", run->out, run->err);
    cr_expect_eq(count_files("tmp"), 0, "coverage files were left in TMPDIR");
    run = attnc_in(no_compiler, "check", "spec.lua");
    cr_expect_eq(run->status, 1);
    cr_expect_not_null(strstr(run->err, "no-such-compiler"), "%s", run->err);
    run = attnc_in(broken_compiler, "check", "spec.lua", "-o", "x");
    cr_expect_eq(run->status, 1);
    cr_expect_not_null(strstr(run->err, "no-such-header.h"), "%s", run->err);
    cr_expect_eq(count_files("x"), 7);
    cr_expect_eq(count_files("tmp"), 0, "files were left in TMPDIR");
    cr_expect_eq(access("pwned", F_OK), -1);
}
