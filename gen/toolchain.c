#include "toolchain.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int run_program(char *const argv[], char *last_line, size_t size) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    FILE *output = last_line != NULL ? tmpfile() : NULL;
    if (last_line != NULL && output == NULL) {
        perror("attnc: temporary file");
        return 127;
    }
    posix_spawn_file_actions_init(&actions);
    if (output != NULL)
        posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
    int error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        fprintf(stderr, "attnc: cannot run '%s': %s\n", argv[0], strerror(error));
        status = 127;
    } else {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (output == NULL)
        return status;
    rewind(output);
    last_line[0] = 0;
    for (char line[512]; fgets(line, sizeof line, output) != NULL;) {
        if (status != 0)
            fputs(line, stderr);
        line[strcspn(line, "\n")] = 0;
        snprintf(last_line, size, "%s", line);
    }
    fclose(output);
    return status;
}

size_t split_words(char *text, char **argv, size_t count, size_t limit) {
    char *state = NULL;
    for (char *word = strtok_r(text, " \t\n", &state); word != NULL && count + 1 < limit;
         word = strtok_r(NULL, " \t\n", &state))
        argv[count++] = word;
    argv[count] = NULL;
    return count;
}
