$ -- What stands before the kernels of one instruction set: its guard, its header, and the functions
$ -- of its table that they use.
#if ${isa.guard}
$ local target = isa.target and ('target("%s")'):format(isa.target)
$ if isa.gcc_tile then
#if defined(__GNUC__) && !defined(__clang__)
#define ${ID}_CODE ${target and "__attribute__((" .. target .. "))" or ""}
/* ${isa.gcc_tile.why} */
#define ${ID}_TILE __attribute__((noinline${target and ", " .. target or ""}, optimize("${isa.gcc_tile.option}")))
#elif defined(__clang__)
$ else
#if defined(__GNUC__) || defined(__clang__)
$ end
#define ${ID}_CODE ${target and "__attribute__((" .. target .. "))" or ""}
#define ${ID}_TILE __attribute__((noinline${target and ", " .. target or ""}))
#else
#define ${ID}_CODE
#define ${ID}_TILE
#endif
#if defined(__clang__)
#pragma clang fp contract(off)
#if defined(__x86_64__) || defined(__aarch64__) && __clang_major__ >= 16 /* clang has it there */
#define ${ID}_PRECISE
#pragma float_control(precise, on, push)
#elif __clang_major__ >= 18
#pragma clang fp reassociate(off) reciprocal(off)
#endif
$ if isa.quiet then
#elif defined(__GNUC__) /* ${isa.quiet.why} */
#pragma GCC diagnostic push
$   for _, warning in ipairs(isa.quiet.warnings) do
#pragma GCC diagnostic ignored "${warning}"
$   end
$ end
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#pragma fp_contract(off)
#endif
$ if isa.header then
#include <${isa.header}>
$ end
$ for _, each in ipairs(functions) do

/* ${each.about} */
static inline ${ID}_CODE ${each.gives} ${id}_${each.name}(${each.takes})
{
$   for _, line in ipairs(each.body) do
${(line == "" or line:sub(1, 1) == "#") and "" or "    "}${line}
$   end
}
$ end
