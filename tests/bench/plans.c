/* Prints the plans of a manifest as C for count.c, which runs where no JSON library is.
 *
 *     plans MANIFEST >plans.inc
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "plans: %s\n", what);
    exit(1);
}

static unsigned long long number(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value)) {
        fprintf(stderr, "plans: the manifest's plan lacks '%s'\n", name);
        exit(1);
    }
    return (unsigned long long)json_integer_value(value);
}

int main(int argc, char **argv) {
    json_error_t error;
    json_t *manifest = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;
    const json_t *sets = json_object_get(manifest, "plan");
    size_t i, j;
    json_t *set, *tile;
    if (!json_array_size(sets))
        fail("give the manifest of a kernel");
    json_array_foreach(sets, i, set) {
        const char *isa = json_string_value(json_object_get(set, "isa"));
        const json_t *tiles = json_object_get(set, "tiles");
        if (!isa || !json_array_size(tiles))
            fail("the manifest's plan lacks 'isa' or 'tiles'");
        printf("{\"%s\", %llu, %llu, %llu, %llu, %zu, {", isa, number(set, "lanes"),
               number(set, "query_rows"), number(set, "panel"), number(set, "exp2_fmas"),
               json_array_size(tiles));
        json_array_foreach(tiles, j, tile) {
            /* a tile for decode alone takes whole key tiles */
            const bool decode_only = json_is_true(json_object_get(tile, "decode_only"));
            printf("{%llu, %llu, %llu, %d}, ", number(tile, "rows"),
                   decode_only ? 0 : number(tile, "wide"), decode_only ? 0 : number(tile, "narrow"),
                   decode_only);
        }
        printf("}},\n");
    }
    json_decref(manifest);
    return fflush(stdout) ? 1 : 0;
}
