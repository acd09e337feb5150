/* attnc: the command line. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "output.h"
#include "toolchain.h"

enum { DONE = 0, FAILED = 1, BAD_USAGE = 2 };
enum { SPEC_LIMIT = 1 << 20, WRITTEN_LIMIT = 64 << 20, ARGUMENT_LIMIT = 512 };

static const char help[] =
    "attnc writes C for one attention shape, with every dimension a constant.\n"
    "\n"
    "  attnc SPEC           write the C files of a spec\n"
    "  attnc info SPEC      show shape, plan, parameters, FLOPs and memory\n"
    "  attnc check SPEC     write, compile (CC, CFLAGS) and run the selftests\n"
    "  attnc bench SPEC     write, compile, verify and time; what follows -- goes to the bench\n"
    "  attnc verify FILE... compare written files with what attnc writes today\n"
    "  attnc import CONFIG  write the specs of a model's attentions from its config.json\n"
    "  attnc isa            list the instruction sets and what this CPU runs\n"
    "  attnc help spec      list the fields of a spec\n"
    "  attnc help models    list the model types that import reads\n"
    "\n"
    "  -o, --output DIR     where files go (default out/<name>; import: out/specs/<name>)\n"
    "  --isa LIST           instead of the spec's isa: names with commas, or native\n"
    "                       (import: the specs' isa, default scalar,avx2,avx512,neon)\n"
    "  --set FIELD=VALUE    instead of the spec's value; may be given again\n"
    "  --single-file        header and code in one file\n"
    "  --seq N              import: exactly N positions (default: up to as many as the config "
    "says)\n"
    "  --json               info, isa or bench as JSON; import: what was read, and no specs unless "
    "-o\n"
    "  --templates DIR      use these templates, not the built-in ones\n"
    "  --version, --help\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 bad usage, spec or config.\n";

enum option_bit { OUT = 1, ISA = 2, SET = 4, SINGLE = 8, JSON = 16, TEMPLATES = 32, SEQ = 64 };

struct options {
    unsigned given; /* option_bit */
    const char *out, *isa, *templates;
    long seq;
    const char **sets;
    size_t set_count;
    char **files;
    int file_count;
};

static int usage_error(const char *format, const char *what) {
    fputs("attnc: ", stderr);
    fprintf(stderr, format, what);
    fputs("; see attnc --help\n", stderr);
    return BAD_USAGE;
}

/* Calls commands.NAME with the `arguments` on top of the stack; leaves `results`. */
static int call(lua_State *lua, const char *name, int arguments, int results) {
    int base = lua_gettop(lua) - arguments;
    lua_getglobal(lua, "require");
    lua_pushstring(lua, "commands");
    int status = lua_pcall(lua, 1, 1, 0);
    if (status == LUA_OK) {
        lua_getfield(lua, -1, name);
        lua_replace(lua, -2);
        lua_insert(lua, base + 1);
        status = lua_pcall(lua, arguments, results, 0);
    }
    if (status == LUA_OK)
        return DONE;
    if (lua_istable(lua, -1)) { /* a choice that plan or template refuses */
        lua_getfield(lua, -1, "message");
        fprintf(stderr, "attnc: %s\n", luaL_tolstring(lua, -1, NULL));
        return BAD_USAGE;
    }
    fprintf(stderr, "attnc: internal error: %s\n", luaL_tolstring(lua, -1, NULL));
    return FAILED;
}

/* Pushes the options table that commands.write and commands.info take. */
static int push_options(lua_State *lua, const struct options *options) {
    size_t size;
    const char *error, *file = options->files[0];
    char *text = read_file(file, SPEC_LIMIT, &size, &error);
    if (text == NULL) {
        fprintf(stderr, "attnc: %s: %s%s\n", file, error,
                strpbrk(file, "./") == NULL ? "; no such command either, see attnc --help" : "");
        return BAD_USAGE;
    }
    lua_newtable(lua);
    lua_pushstring(lua, file);
    lua_setfield(lua, -2, "file");
    lua_pushlstring(lua, text, size);
    lua_setfield(lua, -2, "text");
    free(text);
    lua_pushstring(lua, options->isa);
    lua_setfield(lua, -2, "isa");
    lua_pushboolean(lua, options->given & SINGLE);
    lua_setfield(lua, -2, "single_file");
    lua_pushboolean(lua, options->given & JSON);
    lua_setfield(lua, -2, "json");
    if (options->given & SEQ) {
        lua_pushinteger(lua, options->seq);
        lua_setfield(lua, -2, "seq");
    }
    lua_newtable(lua);
    for (size_t i = 0; i < options->set_count; i++) {
        lua_pushstring(lua, options->sets[i]);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
    lua_setfield(lua, -2, "sets");
    return DONE;
}

/* What commands.write made: texts belong to the Lua state. */
struct written {
    const char *name;
    struct output_file *files;
    size_t count;
    const char *isas[64];
    size_t isa_count;
};

/* Takes the array of {name, text} at `index`, which keeps the texts alive. */
static bool take_files(lua_State *lua, int index, struct written *written) {
    written->count = lua_rawlen(lua, index);
    written->files = calloc(written->count + 1, sizeof *written->files);
    if (written->files == NULL)
        return false;
    for (size_t i = 0; i < written->count; i++) {
        struct output_file *file = &written->files[i];
        lua_rawgeti(lua, index, (lua_Integer)i + 1);
        lua_getfield(lua, -1, "name");
        file->name = lua_tostring(lua, -1);
        lua_getfield(lua, -2, "text");
        file->text = lua_tolstring(lua, -1, &file->size);
        lua_pop(lua, 3);
    }
    return true;
}

/* `what` is the function of commands.lua: "write", or "bench" for the files of a bench. */
static int generate(lua_State *lua, const struct options *options, const char *what,
                    struct written *written) {
    int status = push_options(lua, options);
    if (status == DONE)
        status = call(lua, what, 1, 3);
    if (status != DONE)
        return status;
    if (lua_isnil(lua, -3)) {
        fprintf(stderr, "attnc: %s\n", lua_tostring(lua, -2));
        return BAD_USAGE;
    }
    written->name = lua_tostring(lua, -3);
    if (!take_files(lua, lua_absindex(lua, -2), written))
        return FAILED;
    size_t limit = sizeof written->isas / sizeof written->isas[0];
    written->isa_count = lua_rawlen(lua, -1) < limit ? lua_rawlen(lua, -1) : limit;
    for (size_t i = 0; i < written->isa_count; i++) {
        lua_rawgeti(lua, -1, (lua_Integer)i + 1);
        written->isas[i] = lua_tostring(lua, -1);
        lua_pop(lua, 1);
    }
    return DONE;
}

static int command_write(lua_State *lua, const struct options *options) {
    struct written written = {0};
    char out[64];
    int status = generate(lua, options, "write", &written);
    if (status == DONE) {
        snprintf(out, sizeof out, "out/%s", written.name);
        if (!output_write(options->out != NULL ? options->out : out, written.name, written.files,
                          written.count, false))
            status = FAILED;
    }
    free(written.files);
    return status;
}

/* Prints the text that commands.NAME returns. */
static int print_result(lua_State *lua, const char *name, int arguments) {
    int status = call(lua, name, arguments, 2);
    if (status != DONE)
        return status;
    if (lua_isnil(lua, -2)) {
        fprintf(stderr, "attnc: %s\n", lua_tostring(lua, -1));
        return BAD_USAGE;
    }
    fputs(lua_tostring(lua, -2), stdout);
    return DONE;
}

static int command_info(lua_State *lua, const struct options *options) {
    int status = push_options(lua, options);
    return status == DONE ? print_result(lua, "info", 1) : status;
}

/* The specs that commands.import makes, then what it says. */
static int command_import(lua_State *lua, const struct options *options) {
    struct written written = {0};
    char out[64];
    bool write = (options->given & OUT) || !(options->given & JSON);
    if (!write && options->given & (SEQ | ISA))
        return usage_error("import --json without -o writes no specs, so it does not take %s",
                           options->given & SEQ ? "--seq" : "--isa");
    int status = push_options(lua, options);
    if (status != DONE)
        return status;
    lua_pushboolean(lua, write);
    lua_setfield(lua, -2, "write");
    status = call(lua, "import", 1, 3);
    if (status != DONE)
        return status;
    if (lua_isnil(lua, -3)) {
        fprintf(stderr, "attnc: %s\n", lua_tostring(lua, -2));
        return BAD_USAGE;
    }
    if (write) {
        written.name = lua_tostring(lua, -3);
        snprintf(out, sizeof out, "out/specs/%s", written.name);
        if (!take_files(lua, lua_absindex(lua, -2), &written) ||
            !output_write(options->out != NULL ? options->out : out, written.name, written.files,
                          written.count, (options->given & JSON) != 0))
            status = FAILED;
        free(written.files);
    }
    if (status == DONE)
        printf("%s%s", write && !(options->given & JSON) ? "\n" : "", lua_tostring(lua, -1));
    return status;
}

static int command_isa(lua_State *lua, const struct options *options) {
    lua_newtable(lua);
    lua_pushboolean(lua, options->given & JSON);
    lua_setfield(lua, -2, "json");
    return print_result(lua, "isa", 1);
}

static int command_help(lua_State *lua, const struct options *options) {
    if (options->file_count == 0) {
        fputs(help, stdout);
        return DONE;
    }
    if (strcmp(options->files[0], "spec") == 0)
        return print_result(lua, "help_spec", 0);
    if (strcmp(options->files[0], "models") == 0)
        return print_result(lua, "help_models", 0);
    return usage_error("no help on '%s': try attnc help spec, attnc help models",
                       options->files[0]);
}

static int command_verify(lua_State *lua, const struct options *options) {
    int worst = DONE;
    for (int i = 0; i < options->file_count; i++) {
        size_t size;
        const char *error, *file = options->files[i];
        char *text = read_file(file, WRITTEN_LIMIT, &size, &error);
        if (text == NULL) {
            fprintf(stderr, "attnc: %s: %s\n", file, error);
            worst = BAD_USAGE;
            continue;
        }
        lua_pushstring(lua, file);
        lua_pushlstring(lua, text, size);
        free(text);
        int status = call(lua, "verify", 2, 2);
        if (status == DONE) {
            const char *verdict = lua_tostring(lua, -2);
            printf("%s: %s\n", file, lua_tostring(lua, -1));
            if (strcmp(verdict, "differs") == 0)
                status = FAILED;
            if (strcmp(verdict, "foreign") == 0)
                status = BAD_USAGE;
        }
        if (status > worst)
            worst = status;
        lua_settop(lua, 0);
    }
    return worst;
}

/* ---- attnc check, attnc bench ---- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The words of CC and CFLAGS, then those given up to NULL. Cut texts stay in `storage`. */
struct command {
    char *argv[ARGUMENT_LIMIT];
    size_t count;
    char storage[2][8192];
};

static bool add_environment(struct command *command, int slot, const char *name,
                            const char *standard) {
    const char *text = getenv(name);
    if (text == NULL || text[strspn(text, " \t\n")] == 0)
        text = standard;
    size_t size = strlen(text) + 1;
    if (size > sizeof command->storage[slot]) {
        fprintf(stderr, "attnc: %s in the environment is too long\n", name);
        return false;
    }
    memcpy(command->storage[slot], text, size);
    command->count =
        split_words(command->storage[slot], command->argv, command->count, ARGUMENT_LIMIT - 8);
    return true;
}

static void add(struct command *command, char *word) {
    command->argv[command->count++] = word;
    command->argv[command->count] = NULL;
}

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Compiles every written C file into `build` and links a program there; says so in `log`. */
static bool build_program(const struct written *written, const char *sources, const char *build,
                          FILE *log, char *program, size_t program_size) {
    char paths[64][2][4096]; /* source and object of each C file */
    struct command link = {0}, compile;
    size_t files = 0;
    if (!add_environment(&link, 0, "CC", "cc") || !add_environment(&link, 1, "CFLAGS", "-O2"))
        return false;
    snprintf(program, program_size, "%s/program", build);
    add(&link, "-o");
    add(&link, program);
    for (size_t i = 0; i < written->count && files < 64; i++) {
        const char *name = written->files[i].name;
        if (!ends_with(name, ".c"))
            continue;
        char *source = paths[files][0], *object = paths[files][1];
        int length = snprintf(source, sizeof paths[0][0], "%s/%s", sources, name);
        snprintf(object, sizeof paths[0][1], "%s/%zu.o", build, files++);
        if (length >= (int)sizeof paths[0][0]) {
            fprintf(stderr, "attnc: %s: the path is too long\n", sources);
            return false;
        }
        compile = (struct command){0};
        add_environment(&compile, 0, "CC", "cc");
        add_environment(&compile, 1, "CFLAGS", "-O2");
        if (strncmp(name, "bench-", 6) == 0) /* C99 is for the kernels */
            add(&compile, "-std=c11");
        add(&compile, "-c");
        add(&compile, "-o");
        add(&compile, object);
        add(&compile, source);
        fprintf(log, "compile %-40s ", name);
        fflush(log);
        double start = seconds();
        int status = run_program(compile.argv, NULL, 0);
        fprintf(log, status == 0 ? "%6.1f s\n" : "failed\n", seconds() - start);
        if (status != 0)
            return false;
        if (link.count + 4 < ARGUMENT_LIMIT)
            add(&link, object);
    }
    add(&link, "-lm");
    add(&link, "-pthread");
    return run_program(link.argv, NULL, 0) == 0;
}

/* Reads "N passed, N failed". */
static bool read_counts(const char *line, long *passed, long *failed) {
    static const char between[] = " passed, ";
    char *end;
    *passed = strtol(line, &end, 10);
    if (end == line || strncmp(end, between, sizeof between - 1) != 0)
        return false;
    line = end + sizeof between - 1;
    *failed = strtol(line, &end, 10);
    return end != line && strncmp(end, " failed", 7) == 0;
}

static int run_selftests(lua_State *lua, const struct options *options,
                         const struct written *written, char *program) {
    long counts[3] = {0};
    (void)options;
    if (program == NULL) {
        puts("0 passed, 1 failed, 0 skipped: it does not build");
        return FAILED;
    }
    for (size_t i = 0; i < written->isa_count; i++) {
        char line[256] = "", isa[64];
        long passed, failed;
        snprintf(isa, sizeof isa, "%s", written->isas[i]);
        lua_pushstring(lua, isa);
        if (call(lua, "runs", 1, 1) != DONE || !lua_toboolean(lua, -1)) {
            printf("run     %-40s skipped: this CPU does not run it\n", isa);
            counts[2]++;
            continue;
        }
        printf("run     %-40s ", isa);
        fflush(stdout);
        char *argv[] = {program, isa, NULL};
        int status = run_program(argv, line, sizeof line);
        if (!read_counts(line, &passed, &failed)) {
            passed = 0, failed = 1;
            snprintf(line, sizeof line, "failed: it ended without a result, status %d", status);
        } else if (status != 0 && failed == 0) {
            failed = 1; /* it says good, its status says bad */
        }
        printf("%s\n", line);
        counts[0] += passed;
        counts[1] += failed;
    }
    printf("%ld passed, %ld failed, %ld skipped%s\n", counts[0], counts[1], counts[2],
           counts[0] + counts[1] == 0 ? ": nothing ran" : "");
    return counts[0] > 0 && counts[1] == 0 ? DONE : FAILED;
}

/* What follows the spec on the command line goes to the program. */
static int run_bench(lua_State *lua, const struct options *options, const struct written *written,
                     char *program) {
    char *argv[ARGUMENT_LIMIT] = {program, options->given & JSON ? "--json" : NULL};
    size_t count = options->given & JSON ? 2 : 1;
    (void)lua, (void)written;
    for (int i = 1; i < options->file_count && count + 1 < ARGUMENT_LIMIT; i++)
        argv[count++] = options->files[i];
    return program != NULL && run_program(argv, NULL, 0) == 0 ? DONE : FAILED;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

/* Writes what commands.`what` gives into a directory that goes again, unless -o says where; builds
 * it and calls `run` with the program, NULL if it does not build. */
static int build_and_run(lua_State *lua, const struct options *options, const char *what, FILE *log,
                         int (*run)(lua_State *, const struct options *, const struct written *,
                                    char *)) {
    struct written written = {0};
    char build[1024], sources[1100], program[1200];
    const char *base = getenv("TMPDIR");
    int status = generate(lua, options, what, &written);
    if (status != DONE)
        goto done;
    status = FAILED;
    snprintf(build, sizeof build, "%s/attnc-XXXXXX", base != NULL && base[0] != 0 ? base : "/tmp");
    if (mkdtemp(build) == NULL) {
        fprintf(stderr, "attnc: %s: %s\n", build, strerror(errno));
        goto done;
    }
    snprintf(sources, sizeof sources, "%s/src", build);
    const char *directory = options->out != NULL ? options->out : sources;
    if (output_write(directory, written.name, written.files, written.count, options->out == NULL)) {
        bool good = build_program(&written, directory, build, log, program, sizeof program);
        status = run(lua, options, &written, good ? program : NULL);
    }
    /* all of it: compilers leave files of their own, such as coverage notes */
    nftw(build, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
done:
    free(written.files);
    return status;
}

static int command_check(lua_State *lua, const struct options *options) {
    return build_and_run(lua, options, "write", stdout, run_selftests);
}

static int command_bench(lua_State *lua, const struct options *options) {
    return build_and_run(lua, options, "bench", stderr, run_bench);
}

/* ---- the command line ---- */

static const struct command_row {
    const char *name; /* NULL: no command, a spec to write */
    int (*run)(lua_State *, const struct options *);
    unsigned options;
    int least, most; /* how many files */
    const char *wants;
} rows[] = {
    {"info", command_info, ISA | SET | JSON | TEMPLATES, 1, 1, "one spec"},
    {"check", command_check, OUT | ISA | SET | SINGLE | TEMPLATES, 1, 1, "one spec"},
    {"bench", command_bench, ISA | SET | JSON | TEMPLATES, 1, 1 << 30, "one spec"},
    {"verify", command_verify, TEMPLATES, 1, 1 << 30, "one or more files"},
    {"import", command_import, OUT | ISA | SEQ | JSON | TEMPLATES, 1, 1, "one config.json"},
    {"isa", command_isa, JSON | TEMPLATES, 0, 0, "no further words"},
    {"help", command_help, TEMPLATES, 0, 1, "at most one word"},
    {NULL, command_write, OUT | ISA | SET | SINGLE | TEMPLATES, 1, 1, "one spec"},
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"isa", required_argument, NULL, 'i'},
    {"set", required_argument, NULL, 's'},
    {"single-file", no_argument, NULL, '1'},
    {"seq", required_argument, NULL, 'q'},
    {"json", no_argument, NULL, 'j'},
    {"templates", required_argument, NULL, 't'},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* A number of positions; the specs have the same limit. */
static bool parse_length(const char *text, long *length) {
    char *end;
    if (text == NULL) /* getopt gives every value that an option requires */
        return false;
    errno = 0;
    *length = strtol(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *length >= 1 &&
           *length <= 1 << 24;
}

static int run(int argc, char **argv, struct options *options) {
    static const char *const spelled[] = {"-o",     "--isa",       "--set", "--single-file",
                                          "--json", "--templates", "--seq"};
    for (int c; (c = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1;) {
        if (optarg != NULL && optarg[0] == 0) /* --isa= or --isa '' */
            return usage_error("%s: the value is empty",
                               argv[optind - (argv[optind - 1][0] == 0 ? 2 : 1)]);
        switch (c) {
        case 'o':
            options->out = optarg;
            options->given |= OUT;
            break;
        case 'i':
            options->isa = optarg;
            options->given |= ISA;
            break;
        case 's':
            options->sets[options->set_count++] = optarg;
            options->given |= SET;
            break;
        case '1':
            options->given |= SINGLE;
            break;
        case 'j':
            options->given |= JSON;
            break;
        case 'q':
            if (!parse_length(optarg, &options->seq))
                return usage_error("--seq '%s': it takes a whole number from 1 to 16777216",
                                   optarg);
            options->given |= SEQ;
            break;
        case 't':
            options->templates = optarg;
            options->given |= TEMPLATES;
            break;
        case 'v':
            puts("attnc " ATTNC_VERSION);
            return DONE;
        case 'h':
            fputs(help, stdout);
            return DONE;
        default: /* getopt has said what is wrong */
            return BAD_USAGE;
        }
    }
    if (optind == argc)
        return usage_error("no spec or command%s", "");
    const struct command_row *row = rows;
    while (row->name != NULL && strcmp(row->name, argv[optind]) != 0)
        row++;
    if (row->name != NULL)
        optind++;
    options->files = argv + optind;
    options->file_count = argc - optind;
    const char *name = row->name != NULL ? row->name : "writing";
    if (options->file_count < row->least || options->file_count > row->most) {
        fprintf(stderr, "attnc: %s takes %s, not %d; see attnc --help\n", name, row->wants,
                options->file_count);
        return BAD_USAGE;
    }
    for (unsigned i = 0; i < sizeof spelled / sizeof spelled[0]; i++)
        if (options->given & ~row->options & 1u << i) {
            fprintf(stderr, "attnc: %s does not take %s; see attnc --help\n", name, spelled[i]);
            return BAD_USAGE;
        }
    if (options->templates != NULL) {
        DIR *directory = opendir(options->templates);
        if (directory == NULL)
            return usage_error("--templates: cannot read directory '%s'", options->templates);
        closedir(directory);
    }
    lua_State *lua = host_open(options->templates);
    if (lua == NULL) {
        fputs("attnc: not enough memory\n", stderr);
        return FAILED;
    }
    int status = row->run(lua, options);
    lua_close(lua);
    return status;
}

int main(int argc, char **argv) {
    struct options options = {.sets = calloc((size_t)argc + 1, sizeof(char *))};
    int status = FAILED;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write that fails, as a full disk is */
    if (options.sets != NULL)
        status = run(argc, argv, &options);
    free(options.sets);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == DONE) {
        perror("attnc: standard output");
        status = FAILED;
    }
    return status;
}
