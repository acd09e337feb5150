/* Runs ./attnc as a user would, in a directory of its own, for the tests of the command line. */
#ifndef TESTS_GENERATOR_RUN_H
#define TESTS_GENERATOR_RUN_H

#include <stdbool.h>
#include <stddef.h>

/* What a run printed and how it ended. Texts are cut at their size. */
struct run {
    int status; /* exit status; 128 + signal; 124 if it took more than 10 seconds */
    char out[65536], err[16384];
};

/* Makes a new directory, goes there, and removes it when the test's process ends. */
void enter(void);
extern char project[4096]; /* where ./attnc and specs/ are */

/* Runs attnc with these arguments; one that is NULL ends them. attnc_in is the same with
 * `setup` called in the child before: limits, environment, directory. The result is valid until the
 * next run. */
#define attnc(...) run_attnc(NULL, (const char *const[]){__VA_ARGS__, NULL})
#define attnc_in(setup, ...) run_attnc(setup, (const char *const[]){__VA_ARGS__, NULL})
const struct run *run_attnc(void (*setup)(void), const char *const *arguments);

/* Removes a file, or a directory with all that is in it. */
void remove_tree(const char *path);
void write_text(const char *path, const char *text);
/* The whole file, NULL if there is none. Freed by the caller. */
char *read_text(const char *path);
/* How many files lie in a directory; -1 if it is not there. */
int count_files(const char *path);
/* Whether both directories hold files of the same names and bytes. */
bool same_files(const char *a, const char *b);

/* One clear line on stderr with all the words (split at '|'), status 2, and nothing written. */
void expect_refusal(const struct run *run, const char *what, const char *words);

#endif
