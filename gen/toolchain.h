/* Building and running what was written, for `attnc check`. */
#ifndef ATTNC_TOOLCHAIN_H
#define ATTNC_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Runs a program found on PATH with an argument vector that ends in NULL: no shell is involved.
 * Its stderr goes to ours; its stdout too, unless `last_line` is given, which then receives the
 * last line of it (without the newline, cut to `size`) while all of it goes to stderr if the
 * program fails. Returns the exit status, 128 + signal, or 127 if it cannot be started (said on
 * stderr). */
int run_program(char *const argv[], char *last_line, size_t size);

/* Appends the words of `text` (split at blanks) to argv[count...] and returns the new count; cuts
 * `text` in place. At most `limit` entries in all, a NULL behind them included. */
size_t split_words(char *text, char **argv, size_t count, size_t limit);

#endif
