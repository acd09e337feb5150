$ -- Picks the instruction set. Everything that computes is in the kernels' files: in the dispatcher
$ -- nothing depends on an instruction set but this choice.
/* ---- choice of the instruction set ---- */
$ if cpu_words > 0 then

/* What the CPU and its operating system say, in words that the masks below read. For tests, and for
 * systems that hide it: ${NAME}_READ_CPU may name another function that fills in the words. */
#if defined(${NAME}_READ_CPU)
#ifdef __cplusplus
extern "C"
#endif
void ${NAME}_READ_CPU(uint64_t *words);
$   for _, each in ipairs(cpus) do
#elif ${each.guard}
#define ${NAME}_READ_CPU ${name}_read_cpu
${each.code:sub(1, -2)}
$   end
#else
#define ${NAME}_READ_CPU(words) memset(words, 0, ${cpu_words} * sizeof *(words))
#endif
$ end

/* An instruction set, and the bits that it needs. */
typedef struct ${name}_set {
    const ${name}_kernels *kernels;
$ if cpu_words > 0 then
    uint64_t needs[${cpu_words}];
$ end
} ${name}_set;

/* Best first. */
static const ${name}_set ${name}_sets[] = {
$ local function row(kernels, needs)
    {${kernels}${cpu_words > 0 and ", {" .. needs .. "}" or ""}},
$ end
$ for index = #isas, 1, -1 do
$   local set = isas[index]
$   if set.guard ~= "1" then
#if ${set.guard}
$   end
$   row(("&%s_%s_kernels"):format(name, set.symbol), asks[set.id])
$   if set.guard ~= "1" then
#endif
$   end
$ end
$ row("NULL", "0")
};

/* The best one that runs here, or the one of that name; NULL if there is none. */
static const ${name}_kernels *${name}_find(const char *isa)
{
$ if cpu_words > 0 then
    uint64_t words[${cpu_words}] = {0};
    ${NAME}_READ_CPU(words);
$ end
    for (const ${name}_set *set = ${name}_sets; set->kernels != NULL; set++) {
        int runs = isa == NULL || strcmp(set->kernels->isa, isa) == 0;
$ if cpu_words > 0 then
        for (int i = 0; i < ${cpu_words}; i++)
            runs = runs && (words[i] & set->needs[i]) == set->needs[i];
$ end
        if (runs)
            return set->kernels;
    }
    return NULL;
}

/* The one writable variable: which set runs, NULL until the first call has looked. Every thread
 * that looks finds the same, so a plain atomic store will do. */
static const ${name}_kernels *${name}_selected;

#if defined(__GNUC__) || defined(__clang__)
#define ${NAME}_READ() __atomic_load_n(&${name}_selected, __ATOMIC_ACQUIRE)
#define ${NAME}_SELECT(kernels) __atomic_store_n(&${name}_selected, kernels, __ATOMIC_RELEASE)
#else /* aligned pointers are read and written whole */
#define ${NAME}_READ() (*(const ${name}_kernels *volatile *)&${name}_selected)
#define ${NAME}_SELECT(kernels) (*(const ${name}_kernels *volatile *)&${name}_selected = (kernels))
#endif

static const ${name}_kernels *${name}_kernels_here(void)
{
    const ${name}_kernels *kernels = ${NAME}_READ();
    if (kernels == NULL) {
        kernels = ${name}_find(NULL);
        ${NAME}_SELECT(kernels);
    }
    return kernels;
}

const char *${name}_isa(void)
{
    const ${name}_kernels *const kernels = ${name}_kernels_here();
    return kernels != NULL ? kernels->isa : "none";
}

int ${name}_use_isa(const char *isa)
{
    const ${name}_kernels *const kernels = ${name}_find(isa);
    if (kernels == NULL)
        return ${NAME}_ERROR_CPU;
    ${NAME}_SELECT(kernels);
    return ${NAME}_OK;
}
#undef ${NAME}_READ
#undef ${NAME}_SELECT
$ if cpu_words > 0 then
#undef ${NAME}_READ_CPU
$ end
