#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "guard.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct block {
    char *pages; /* guard, data, guard */
    size_t page, data;
    void *buffer;
    bool frozen;
} blocks[256];
static size_t used;

static void need(int ok, const char *what) {
    if (ok)
        return;
    perror(what);
    abort();
}

void *guard_new(size_t bytes, enum place place) {
    need(used < sizeof blocks / sizeof *blocks, "guard_new: too many buffers");
    struct block *block = &blocks[used++];
    block->frozen = false;
    const size_t shift = place == SHIFTED ? sizeof(float) : 0;
    block->page = (size_t)sysconf(_SC_PAGESIZE);
    block->data = (bytes + shift + block->page - 1) / block->page * block->page;
    const size_t whole = block->data + 2 * block->page;
    block->pages = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(block->pages != MAP_FAILED, "mmap");
    char *data = block->pages + block->page;
    if (block->data)
        need(!mprotect(data, block->data, PROT_READ | PROT_WRITE), "mprotect");
    block->buffer = place == AT_END ? data + block->data - bytes : data + shift;
    return block->buffer;
}

size_t guard_mark(void) { return used; }

void guard_release(size_t mark) {
    while (used > mark) {
        used--;
        munmap(blocks[used].pages, blocks[used].data + 2 * blocks[used].page);
    }
}

static void protect(const void *buffer, bool frozen) {
    for (size_t i = 0; i < used; i++)
        if (blocks[i].buffer == buffer && blocks[i].data) {
            need(!mprotect(blocks[i].pages + blocks[i].page, blocks[i].data,
                           frozen ? PROT_READ : PROT_READ | PROT_WRITE),
                 "mprotect");
            blocks[i].frozen = frozen;
        }
}

void guard_freeze(const void *buffer) { protect(buffer, true); }
void guard_thaw(const void *buffer) { protect(buffer, false); }

bool guard_is_frozen(const void *buffer) {
    for (size_t i = 0; i < used; i++)
        if (blocks[i].buffer == buffer)
            return blocks[i].frozen;
    return false;
}
