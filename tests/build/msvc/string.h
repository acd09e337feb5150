/* What the written C takes from <string.h>, for a syntax check where there is no C library. */
#ifndef MSVC_STRING_H
#define MSVC_STRING_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int strcmp(const char *a, const char *b);
#ifdef __cplusplus
}
#endif
#endif
