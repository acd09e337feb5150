/* Tells the story of a llama2.c checkpoint, greedily: `story [--isa NAME] [--steps N] MODEL
 * TOKENIZER`. Exit status 0, 1 if a file cannot be used, 2 for a wrong call. */
#include "llama.h"

#include "stories260k.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_TOKEN = 1 };

typedef struct vocabulary {
    size_t stride; /* bytes from one piece to the next */
    char *text;    /* zero-terminated pieces */
} vocabulary;

/* A tokenizer file: int32 longest piece, then per token float score, int32 length, bytes. Returns
 * 0, or -1 when the file does not hold `count` tokens. */
static int vocabulary_read(vocabulary *words, FILE *file, int count) {
    int32_t longest, length;
    float score;
    if (fread(&longest, sizeof longest, 1, file) != 1 || longest < 0 || longest > 1 << 16)
        return -1;
    words->stride = (size_t)longest + 1;
    words->text = calloc((size_t)count, words->stride);
    if (words->text == NULL)
        return -1;
    for (char *piece = words->text; count > 0; count--, piece += words->stride)
        if (fread(&score, sizeof score, 1, file) != 1 ||
            fread(&length, sizeof length, 1, file) != 1 || length < 0 || length > longest ||
            fread(piece, 1, (size_t)length, file) != (size_t)length)
            return -1;
    return 0;
}

/* The text of `token` after `previous`: <0xNN> is a byte. */
static void print_token(const vocabulary *words, int previous, int token) {
    const char *piece = words->text + (size_t)token * words->stride;
    char *end;
    if (previous == START_TOKEN && piece[0] == ' ')
        piece++;
    if (strncmp(piece, "<0x", 3) == 0) {
        const long byte = strtol(piece + 3, &end, 16);
        if (strcmp(end, ">") == 0) {
            putchar((int)byte);
            return;
        }
    }
    fputs(piece, stdout);
}

static int most_likely(const float *logits, int count) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Returns an exit status. */
static int tell(llama *model, const vocabulary *words, int steps) {
    float *logits = malloc((size_t)model->vocab * sizeof *logits);
    int token = START_TOKEN, status = logits == NULL;
    for (int position = 0; status == 0 && position < steps && position < model->positions;
         position++) {
        status = llama_step(model, token, position, logits);
        if (status != 0) {
            fprintf(stderr, "story: the kernel refused position %d with status %d\n", position,
                    status);
            break;
        }
        const int next = most_likely(logits, model->vocab);
        if (next == START_TOKEN)
            break;
        print_token(words, token, next);
        token = next;
    }
    putchar('\n');
    free(logits);
    return status != 0;
}

static int usage(void) {
    fprintf(stderr, "usage: story [--isa NAME] [--steps N] MODEL.bin TOKENIZER.bin\n");
    return 2;
}

int main(int argc, char **argv) {
    int steps = 200, at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        char *end;
        if (strcmp(argv[at], "--isa") == 0) {
            if (stories260k_use_isa(argv[at + 1]) != STORIES260K_OK) {
                fprintf(stderr, "story: no kernel for '%s' runs here; written are: %s\n",
                        argv[at + 1], STORIES260K_ISAS);
                return 1;
            }
        } else if (strcmp(argv[at], "--steps") == 0) {
            const long number = strtol(argv[at + 1], &end, 10);
            if (*end != '\0' || number < 1 || number > 1 << 20)
                return usage();
            steps = (int)number;
        } else {
            return usage();
        }
    }
    if (argc - at != 2)
        return usage();

    llama model;
    const char *wrong = llama_open(&model, argv[at]);
    if (wrong != NULL) {
        fprintf(stderr, "story: %s\n", wrong);
        return 1;
    }
    vocabulary words = {0, NULL};
    FILE *file = fopen(argv[at + 1], "rb");
    int status = 1;
    if (file == NULL)
        fprintf(stderr, "story: %s: %s\n", argv[at + 1], strerror(errno));
    else if (vocabulary_read(&words, file, model.vocab) != 0)
        fprintf(stderr, "story: %s: it does not hold the model's %d tokens\n", argv[at + 1],
                model.vocab);
    else
        status = tell(&model, &words, steps);
    if (file != NULL)
        fclose(file);
    free(words.text);
    llama_close(&model);
    return status;
}
