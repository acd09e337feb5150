--- Architectures and CPU features: the one place that knows which bit means what.
--
-- cpu.archs           id -> {guard=, words=, built=, features=}
--   guard     the preprocessor's condition for the architecture
--   words     what the CPU and its system say of themselves, as named 64-bit words, in the order in
--             which the written dispatcher keeps them. gen/cpu.c reads them on this machine,
--             templates/cpu/<arch>.t in the written C; neither knows what a bit means. vector_bytes
--             is the length of a vector register with all lower bits set too, so that a mask says
--             "at least so long".
--   features  name -> {word = mask, ...}: bits that must all be set
--   built     features that code has whenever it is compiled at all, by the set's `requires`
-- cpu.guard(set)      -> the condition under which an instruction set's code compiles
-- cpu.masks(set)      -> {word = mask, ...} that remain to be checked when the program runs
-- cpu.runs(set)       -> whether this machine runs the set
local cpu = {}

-- XCR0: the register state that the operating system saves (Intel SDM volume 1, 13.1 and 14.3).
local AVX, AVX512 = 0x6, 0xe6

cpu.archs = {
    any = { guard = "1", words = {}, built = {}, features = {} },
    x86_64 = {
        guard = "(defined(__x86_64__) || defined(_M_X64)) && !defined(_M_ARM64EC)",
        words = { "leaf_1_ecx", "leaf_7_ebx", "xcr0" },
        built = {},
        features = {
            ["sse4.2"] = { leaf_1_ecx = 1 << 20 },
            fma = { leaf_1_ecx = 1 << 12, xcr0 = AVX },
            avx2 = { leaf_1_ecx = 1 << 28, leaf_7_ebx = 1 << 5, xcr0 = AVX }, -- AVX too
            avx512f = { leaf_7_ebx = 1 << 16, xcr0 = AVX512 },
            avx512dq = { leaf_7_ebx = 1 << 17, xcr0 = AVX512 },
            avx512bw = { leaf_7_ebx = 1 << 30, xcr0 = AVX512 },
            avx512vl = { leaf_7_ebx = 1 << 31, xcr0 = AVX512 },
        },
    },
    aarch64 = {
        guard = "defined(__aarch64__) || defined(_M_ARM64)",
        words = { "hwcap", "vector_bytes" },
        built = { asimd = true },
        features = {
            asimd = { hwcap = 1 << 1 },
            sve = { hwcap = 1 << 22 },
            ["128-bit vectors"] = { vector_bytes = 16 },
            ["256-bit vectors"] = { vector_bytes = 32 },
            ["512-bit vectors"] = { vector_bytes = 64 },
        },
    },
    riscv64 = {
        guard = "defined(__riscv) && __riscv_xlen == 64",
        words = { "hwcap", "vector_bytes" },
        built = { v = true },
        features = {
            v = { hwcap = 1 << 21 },
            ["128-bit vectors"] = { vector_bytes = 16 },
            ["256-bit vectors"] = { vector_bytes = 32 },
            ["512-bit vectors"] = { vector_bytes = 64 },
        },
    },
    s390x = {
        guard = "defined(__s390x__)",
        words = { "hwcap" },
        built = { vxe = true },
        features = { vxe = { hwcap = 1 << 13 } },
    },
    wasm32 = {
        guard = "defined(__wasm__)",
        words = {},
        built = { simd128 = true },
        features = { simd128 = {} },
    },
}

local function arch_of(set)
    return assert(cpu.archs[set.arch], set.id .. ": no such arch: " .. tostring(set.arch))
end

function cpu.guard(set)
    local guard = arch_of(set).guard
    if not set.requires then
        return guard
    end
    return ("(%s) && (%s)"):format(guard, set.requires)
end

local function masks(set, built)
    local arch, all = arch_of(set), {}
    for _, name in ipairs(set.needs) do
        local feature = assert(arch.features[name], set.id .. ": no such feature: " .. name)
        for word, mask in pairs(arch.built[name] and not built and {} or feature) do
            all[word] = (all[word] or 0) | mask
        end
    end
    return all
end

function cpu.masks(set)
    return masks(set, false)
end

function cpu.runs(set)
    local machine = attnc.machine()
    if set.arch ~= "any" and set.arch ~= machine.arch then
        return false
    end
    for word, mask in pairs(masks(set, true)) do
        if (machine[word] or 0) & mask ~= mask then
            return false
        end
    end
    return true
end

return cpu
