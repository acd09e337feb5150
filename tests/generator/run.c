#include "run.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char project[4096];
static char home[4096];

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static void leave(void) {
    if (chdir(project) == 0)
        remove_tree(home);
}

void enter(void) {
    cr_assert_not_null(getcwd(project, sizeof project));
    const char *base = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/attnc-test-XXXXXX", base != NULL ? base : "/tmp");
    cr_assert_not_null(mkdtemp(home));
    cr_assert_eq(atexit(leave), 0);
    cr_assert_eq(chdir(home), 0);
}

static void slurp(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

const struct run *run_attnc(void (*setup)(void), const char *const *arguments) {
    static struct run result;
    char program[4200], out[4200], err[4200];
    char *argv[32] = {program};
    int count = 1, status;
    snprintf(program, sizeof program, "%s/attnc", project);
    snprintf(out, sizeof out, "%s/.stdout", home);
    snprintf(err, sizeof err, "%s/.stderr", home);
    for (; count < 31 && arguments[count - 1] != NULL; count++)
        argv[count] = (char *)arguments[count - 1];
    pid_t child = fork();
    if (child == 0) {
        if (freopen(out, "w", stdout) == NULL || freopen(err, "w", stderr) == NULL)
            _exit(126);
        if (setup != NULL)
            setup();
        alarm(60); /* outlives exec: what hangs dies of SIGALRM */
        execv(program, argv);
        _exit(127);
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (result.status == 128 + SIGALRM)
        result.status = 124;
    slurp(out, result.out, sizeof result.out);
    slurp(err, result.err, sizeof result.err);
    return &result;
}

void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    cr_assert_eq(fclose(file), 0);
}

char *read_text(const char *path) {
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &status) != 0)
        return NULL;
    char *text = calloc(1, (size_t)status.st_size + 1);
    cr_assert_not_null(text);
    cr_assert_eq(fread(text, 1, (size_t)status.st_size, file), (size_t)status.st_size);
    fclose(file);
    return text;
}

int count_files(const char *path) {
    DIR *entries = opendir(path);
    if (entries == NULL)
        return -1;
    int count = -2; /* . and .. */
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

bool same_files(const char *a, const char *b) {
    DIR *entries = opendir(a);
    bool same = entries != NULL && count_files(a) == count_files(b);
    for (struct dirent *entry; same && (entry = readdir(entries)) != NULL;) {
        char path[2][4200];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path[0], sizeof path[0], "%s/%s", a, entry->d_name);
        snprintf(path[1], sizeof path[1], "%s/%s", b, entry->d_name);
        char *text[2] = {read_text(path[0]), read_text(path[1])};
        same = text[0] != NULL && text[1] != NULL && strcmp(text[0], text[1]) == 0;
        free(text[0]);
        free(text[1]);
    }
    if (entries != NULL)
        closedir(entries);
    return same;
}

void expect_refusal(const struct run *run, const char *what, const char *words) {
    char copy[512], *state = NULL;
    cr_expect_eq(run->status, 2, "%s: status %d, not 2: %s", what, run->status, run->err);
    cr_expect_eq(strncmp(run->err, "attnc: ", 7), 0, "%s: %s", what, run->err);
    const char *end = strchr(run->err, '\n');
    cr_expect(end != NULL && end[1] == 0, "%s: not one line: %s", what, run->err);
    cr_expect_null(strstr(run->err, "internal"), "%s: %s", what, run->err);
    cr_expect_str_empty(run->out, "%s", what);
    cr_expect_eq(count_files("out"), -1, "%s: something was written", what);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        cr_expect_not_null(strstr(run->err, word), "%s: no '%s' in: %s", what, word, run->err);
}
