#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "guard.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct block {
    char *pages; /* guard, data, guard */
    size_t page, data;
    void *buffer;
    bool frozen;
} blocks[256], spare[64];
static size_t used, spares;
/* Small blocks are used again, which takes less than new ones; large ones want large pages. */
enum { SMALL = 64 << 10, LARGE = 4 << 20 };

static void need(int ok, const char *what) {
    if (ok)
        return;
    perror(what);
    abort();
}

/* Access to the block's data. */
static void set_access(const struct block *block, int access) {
    if (block->data)
        need(!mprotect(block->pages + block->page, block->data, access), "mprotect");
}

/* Gives the block pages for its data, zeros. */
static void get_pages(struct block *block) {
    for (size_t i = spares; i-- > 0;)
        if (spare[i].data == block->data) {
            block->pages = spare[i].pages;
            if (spare[i].frozen)
                set_access(block, PROT_READ | PROT_WRITE);
            memset(block->pages + block->page, 0, block->data);
            spare[i] = spare[--spares];
            return;
        }
    const size_t whole = block->data + 2 * block->page;
    block->pages = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(block->pages != MAP_FAILED, "mmap");
    set_access(block, PROT_READ | PROT_WRITE);
    if (block->data >= LARGE)
        (void)madvise(block->pages + block->page, block->data, MADV_HUGEPAGE);
}

void *guard_new(size_t bytes, enum place place) {
    need(used < sizeof blocks / sizeof *blocks, "guard_new: too many buffers");
    struct block *block = &blocks[used++];
    block->frozen = false;
    const size_t shift = place == SHIFTED ? sizeof(float) : 0;
    block->page = (size_t)sysconf(_SC_PAGESIZE);
    block->data = (bytes + shift + block->page - 1) / block->page * block->page;
    get_pages(block);
    char *data = block->pages + block->page;
    block->buffer = place == AT_END ? data + block->data - bytes : data + shift;
    return block->buffer;
}

size_t guard_mark(void) { return used; }

void guard_release(size_t mark) {
    while (used > mark) {
        const struct block *block = &blocks[--used];
        if (block->data <= SMALL && spares < sizeof spare / sizeof *spare)
            spare[spares++] = *block;
        else
            munmap(block->pages, block->data + 2 * block->page);
    }
}

static void protect(const void *buffer, bool frozen) {
    for (size_t i = 0; i < used; i++)
        if (blocks[i].buffer == buffer && blocks[i].data) {
            set_access(&blocks[i], frozen ? PROT_READ : PROT_READ | PROT_WRITE);
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
