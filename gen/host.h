/* The Lua side of attnc: one trusted state that runs the built-in gen/ modules, and a
 * short-lived sandboxed state for each spec. */
#ifndef ATTNC_HOST_H
#define ATTNC_HOST_H

#include <lua.h>
#include <stddef.h>

#define ATTNC_VERSION "0.1.0"

/* A file that was built into the binary; out/build/builtin.c holds them, sorted by path. */
struct builtin {
    const char *path; /* "gen/spec.lua", "templates/selftest.t" */
    const unsigned char *data;
    size_t size;
};
extern const struct builtin builtins[];
extern const size_t builtin_count;

/* Opens the trusted state with the global table `attnc`. `templates` (may be NULL) is a directory
 * whose files stand in for the built-in templates/. Returns NULL if memory runs out.
 * The caller closes it with lua_close. */
lua_State *host_open(const char *templates);

/* Reads a whole regular file of at most `limit` bytes. Returns malloc'ed text that the caller frees
 * (a 0 byte follows it) and its size; or NULL, and *error is a static or strerror text. */
char *read_file(const char *path, size_t limit, size_t *size, const char **error);

#endif
