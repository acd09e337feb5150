/* Writing a directory of files whole or not at all. */
#ifndef ATTNC_OUTPUT_H
#define ATTNC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output_file {
    const char *name; /* inside the directory, without '/' */
    const char *text;
    size_t size;
    bool unchanged; /* set by output_write: it was there already, byte by byte */
};

/* Writes the files into `directory`, which is made with its parents if need be. Files that hold the
 * right bytes already are left alone. Files that an earlier run for the same spec `name` wrote and
 * this one does not (an instruction set that is gone) are removed. Prints one line a file to stdout
 * unless `quiet`. On an error prints it, leaves everything as it was and returns false. */
bool output_write(const char *directory, const char *name, struct output_file *files, size_t count,
                  bool quiet);

#endif
