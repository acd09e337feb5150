#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

enum { HEAD_BYTES = 64 << 10, FILE_BYTES = 64 << 20 };

static char *join(const char *directory, const char *name, const char *suffix) {
    size_t size = strlen(directory) + strlen(name) + strlen(suffix) + 2;
    char *path = malloc(size);
    if (path == NULL) {
        fputs("attnc: not enough memory\n", stderr);
        exit(1);
    }
    bool slash = directory[0] != 0 && directory[strlen(directory) - 1] == '/';
    snprintf(path, size, "%s%s%s%s", directory, slash ? "" : "/", name, suffix);
    return path;
}

static bool complain(const char *path, const char *what) {
    fprintf(stderr, "attnc: %s: %s\n", path, what);
    return false;
}

/* Whether attnc wrote the file at `path`; with a name, whether for the spec of that name. */
static bool is_ours(const char *path, const char *name) {
    char head[HEAD_BYTES + 1], line[2][128];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t size = fread(head, 1, HEAD_BYTES, file);
    fclose(file);
    head[size] = 0;
    if (strstr(head, "Written by attnc ") == NULL && strstr(head, "\"attnc\": {") == NULL)
        return false;
    if (name == NULL)
        return true;
    snprintf(line[0], sizeof line[0], "name = \"%s\"", name);
    snprintf(line[1], sizeof line[1], "name = \\\"%s\\\"", name); /* in JSON */
    return strstr(head, line[0]) != NULL || strstr(head, line[1]) != NULL;
}

/* Makes the directory and its parents; *made is how many of them are new. */
static bool make_directories(const char *directory, int *made) {
    char *path = join(directory, "", "");
    *made = 0;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool new = mkdir(path, 0777) == 0;
        int error = errno;
        struct stat status;
        *made += new;
        if (!new && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))) {
            complain(path, error == EEXIST ? "is in the way: not a directory" : strerror(error));
            free(path);
            return false;
        }
        *slash = '/';
    }
    free(path);
    return true;
}

/* Removes the last `made` components of the path, as far as they are empty. */
static void remove_directories(const char *directory, int made) {
    char *path = join(directory, "", "");
    for (; made > 0; made--) {
        size_t size = strlen(path);
        while (size > 1 && path[size - 1] == '/')
            path[--size] = 0;
        rmdir(path);
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            break;
        slash[slash == path] = 0;
    }
    free(path);
}

static bool same_bytes(const char *path, const struct output_file *file) {
    struct stat status;
    size_t size;
    const char *error;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size != file->size)
        return false;
    char *text = read_file(path, file->size, &size, &error);
    bool same = text != NULL && size == file->size && memcmp(text, file->text, size) == 0;
    free(text);
    return same;
}

static bool write_file(const char *path, const struct output_file *file) {
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good = out >= 0;
    for (size_t done = 0; good && done < file->size;) {
        ssize_t wrote = write(out, file->text + done, file->size - done);
        if (wrote > 0)
            done += (size_t)wrote;
        good = wrote > 0 || (wrote < 0 && errno == EINTR);
    }
    int error = errno;
    if (out >= 0 && close(out) != 0 && good) {
        error = errno;
        good = false;
    }
    return good || complain(path, strerror(error));
}

/* Puts the new files in place of the old ones; takes every step back if one fails. */
static bool replace(const char *directory, struct output_file *files, size_t count) {
    size_t done = 0;
    bool good = true;
    for (; good && done < count; done++) {
        if (files[done].unchanged)
            continue;
        char *path = join(directory, files[done].name, "");
        char *fresh = join(directory, files[done].name, ".attnc-new");
        char *old = join(directory, files[done].name, ".attnc-old");
        unlink(old);
        good =
            (link(path, old) == 0 || errno == ENOENT || errno == EPERM) && rename(fresh, path) == 0;
        if (!good)
            complain(path, strerror(errno));
        free(path), free(fresh), free(old);
    }
    for (size_t i = 0; i < done; i++) {
        if (files[i].unchanged)
            continue;
        char *path = join(directory, files[i].name, "");
        char *old = join(directory, files[i].name, ".attnc-old");
        if (!good && rename(old, path) != 0 && i + 1 < done)
            unlink(path);
        unlink(old);
        free(path), free(old);
    }
    return good;
}

static void remove_stale(const char *directory, const char *name, const struct output_file *files,
                         size_t count, bool quiet) {
    DIR *entries = opendir(directory);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        bool current = strncmp(entry->d_name, name, strlen(name)) != 0;
        for (size_t i = 0; i < count && !current; i++)
            current = strcmp(entry->d_name, files[i].name) == 0;
        if (current)
            continue;
        char *path = join(directory, entry->d_name, "");
        struct stat status;
        if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && is_ours(path, name) &&
            unlink(path) == 0 && !quiet)
            printf("%s  removed\n", path);
        free(path);
    }
    closedir(entries);
}

/* Finds out which files are right already and whether something else is in the way. */
static bool survey(const char *directory, const char *name, struct output_file *files,
                   size_t count) {
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        char *path = join(directory, files[i].name, "");
        struct stat status;
        files[i].unchanged = same_bytes(path, &files[i]);
        if (!files[i].unchanged && lstat(path, &status) == 0) {
            if (!S_ISREG(status.st_mode) || !is_ours(path, NULL))
                good = complain(path, "is in the way: attnc did not write it; remove it, or choose "
                                      "another directory with -o");
            else if (!is_ours(path, name))
                good = complain(path, "is in the way: attnc wrote it for another kernel; remove "
                                      "it, or choose another directory with -o");
        }
        free(path);
    }
    return good;
}

/* Writes what changes next to the files of today. */
static bool write_fresh(const char *directory, const struct output_file *files, size_t count) {
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        if (files[i].unchanged)
            continue;
        char *path = join(directory, files[i].name, ".attnc-new");
        unlink(path); /* left by a run that was killed */
        good = write_file(path, &files[i]);
        free(path);
    }
    return good;
}

static void remove_fresh(const char *directory, const struct output_file *files, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *path = join(directory, files[i].name, ".attnc-new");
        if (!files[i].unchanged)
            unlink(path);
        free(path);
    }
}

static void print_files(const char *directory, const struct output_file *files, size_t count) {
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(files[i].name);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < count; i++) {
        char *path = join(directory, files[i].name, "");
        printf("%-*s  %8zu bytes%s\n", (int)(strlen(path) - strlen(files[i].name)) + width, path,
               files[i].size, files[i].unchanged ? ", unchanged" : "");
        free(path);
    }
}

bool output_write(const char *directory, const char *name, struct output_file *files, size_t count,
                  bool quiet) {
    sigset_t signals, before;
    int made = 0;
    /* An interrupt waits for the few milliseconds that this takes. */
    sigfillset(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    bool good = make_directories(directory, &made) && survey(directory, name, files, count);
    if (good) {
        good = write_fresh(directory, files, count) && replace(directory, files, count);
        if (!good)
            remove_fresh(directory, files, count);
    }
    if (!good)
        remove_directories(directory, made);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (good && !quiet)
        print_files(directory, files, count);
    if (good)
        remove_stale(directory, name, files, count, quiet);
    return good;
}
