/* Build tool: embed OUT FILE... writes C that holds the files as byte arrays (gen/host.h). */
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *path) {
    perror(path);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (out == NULL)
        fail(argv[1]);
    fputs("#include \"host.h\"\n", out);
    for (int i = 2; i < argc; i++) {
        FILE *in = fopen(argv[i], "rb");
        if (in == NULL)
            fail(argv[i]);
        fprintf(out, "static const unsigned char file_%d[] = {", i);
        size_t size = 0;
        for (int c; (c = getc(in)) != EOF; size++)
            fprintf(out, "%s%d,", size % 32 ? "" : "\n", c);
        if (ferror(in))
            fail(argv[i]);
        fclose(in);
        fprintf(out, "0};\n"); /* an empty array would not be C */
    }
    fputs("const struct builtin builtins[] = {\n", out);
    for (int i = 2; i < argc; i++)
        fprintf(out, "    {\"%s\", file_%d, sizeof file_%d - 1},\n", argv[i], i, i);
    fprintf(out, "};\nconst size_t builtin_count = %d;\n", argc - 2);
    if (ferror(out) || fclose(out) != 0)
        fail(argv[1]);
    return 0;
}
