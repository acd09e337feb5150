--- The instruction sets: the tables of templates/isa, checked and completed, and their operations
-- as functions from C texts to C texts.
--
-- isa.all()          -> the sets in order: the later one runs if the CPU has several
-- isa.get(id)        -> one of them
-- isa.vocabulary(set, prefix) -> words for the kernel's template, and `written`: see there
--
-- A file of templates/isa returns one set or an array of them, what several share being its locals.
-- A set:
--   id, about       its name in specs and messages; what it is
--   order           place in the list, a number of its own
--   arch, needs     the architecture and features, by their names in gen/cpu.lua
--   requires        optional: a condition of the preprocessor on whole builds
--   header, target  optional: the intrinsics' header; the compiler's target attribute
--   quiet           optional: {warnings=, why=} of gcc that its own headers cause
--   gcc_tile        optional: {option=, why=}: an optimisation option of gcc for the tiles
--   vector, lanes   the type of a vector, and how many floats it holds: a divisor of 16
--   factor          optional: the type that one float of a row has in the tiles, if not a vector
--   registers       how many of them a tile may use: fewer than the CPU has, where copies or
--                   products need a place
--   fused           whether fma rounds once; if not, fma and mul keep every product apart from sums
--   tiles           sizes of the register tiles: score_rows x score_vectors, and so on; the sums
--                   (accumulators) that fit; row_vectors: where compilers need room, the most
--                   vectors of one row, and no tile then has more sums than fit
--   test            how the tests run it: native=true on this machine, run=, an emulator's command,
--                   and compile=, a compiler's; without one gcc -static. native or run at least
--   ops             operation -> pattern of an expression; see `operations` below
--   helpers         optional: functions of the written file that the patterns use, in order:
--                   {name=, gives=, takes=, about=, body=}
--   functions       optional: body of an operation that is a function, see `functions` below
-- In patterns and bodies $1, $2, ... are arguments, $name another function of the written file,
-- $vector, $lanes and $key_tile what they say. A body is text, line by line.
local cpu = require "cpu"

local isa = {}

-- Operations on vectors x, y, z, floats a, pointers p and counts n (1 to lanes - 1).
local operations = {
    zero = 0, -- all +0
    set1 = 1, -- (a) in each lane
    load = 1, -- (p) at any address
    store = 2, -- (p, x)
    first = 1, -- (x) its first lane, a float
    fma = 3, -- (x, y, z) x * y + z
    mul = 2, add = 2, sub = 2,
    sqrt = 1, -- (x) its square root; x is 2^-126 at least, or NaN
    div = 2, -- rounded once, as IEEE 754 has it
    clamp = 3, -- (x, a, b) a where x is less, b where it is greater; NaN stays
    max = 2, -- (x, y) x where it is greater, else y: y is never NaN
    negative_infinity = 0,
    shift_exponent = 1, -- (x) lanes shifted left by 23 bits, as integers
}
-- exp2 rounds and scales in one of two ways.
local rounding = {
    -- (x, y, a) x, +0 where y < a, x where y is NaN
    { zero_below = 3 },
    -- (x) minus the integer nearest to it, ties to even; (x, n, y, a) x * 2^n, +0 where y < a
    { minus_rounded = 1, scale_unless_below = 4 },
}
local optional = {
    prefetch = 1, -- (p) for reading
    spread = 1, -- (a) a `factor`, where that is not a vector
    fma_spread = 3, -- (factor, y, z) factor * y + z
}

-- Operations that may be functions of the written file, in its order. `body` composes one that a
-- set lacks; without it the template has another way.
local functions = {
    {
        name = "reduce_max", gives = "float", takes = "$vector x", count = 1,
        about = "The largest lane.",
        body = [[
float lane[$lanes];
float most;
$store(lane, x);
most = lane[0];
for (int i = 1; i < $lanes; i++)
    most = lane[i] > most ? lane[i] : most;
return most;]],
    },
    {
        name = "select_first", gives = "$vector", takes = "int n, $vector x, $vector y", count = 3,
        about = "The first n lanes of x, the others of y.",
        body = [[
float lane[$lanes], other[$lanes];
$store(lane, x);
$store(other, y);
memcpy(lane + n, other + n, (size_t)($lanes - n) * sizeof(float));
return $load(lane);]],
    },
    {
        name = "store_first", gives = "void", takes = "int n, float *to, $vector x", count = 3,
        about = "Stores the first n lanes of x.",
        body = [[
float lane[$lanes];
$store(lane, x);
memcpy(to, lane, (size_t)n * sizeof(float));]],
    },
    {
        name = "transpose", gives = "void", count = 3,
        takes = "const float *source, size_t stride, float *target",
        about = "target[c * $key_tile + i] = source[i * stride + c] "
            .. "for $lanes rows and columns",
    },
    {
        name = "fold", gives = "float", takes = "float *l", count = 1,
        about = "l[i] += l[i + w] for w = 8, 4, 2, 1: the sum of 16 partial sums",
        body = [[
for (int w = 8; w > 0; w /= 2)
    for (int i = 0; i < w; i++)
        l[i] += l[i + w];
return l[0];]],
    },
}

-- The fields of a set, and of the tables in it: their type, and ? where they may be missing.
local fields = {
    id = "string", about = "string", order = "number", arch = "string", needs = "table",
    requires = "string?", header = "string?", target = "string?", quiet = "table?",
    gcc_tile = "table?", vector = "string", lanes = "number", factor = "string?",
    registers = "number", fused = "boolean", tiles = "table", test = "table", ops = "table",
    helpers = "table?", functions = "table?",
}
local inner_fields = {
    tiles = {
        score_rows = "number", score_vectors = "number", value_vectors = "number",
        project_rows = "number", accumulators = "number", row_vectors = "number?",
    },
    test = { native = "boolean?", compile = "string?", run = "string?" },
}

-- Raises an error that says what is wrong with a table: whoever adds a set reads it. `others`: the
-- sets before it, by id.
local function check(set, path, others)
    local function need(good, what, ...)
        if not good then
            error(("%s: set '%s' %s"):format(path, tostring(set.id), what:format(...)), 0)
        end
    end
    local function check_fields(values, types, prefix)
        for name, kind in pairs(types) do
            local optional_field, value = kind:sub(-1) == "?", values[name]
            need(value ~= nil or optional_field, "lacks '%s%s'", prefix, name)
            kind = kind:gsub("%?", "")
            need(value == nil or type(value) == kind, "has '%s%s' = %s: right is a %s", prefix,
                name, tostring(value), kind)
        end
        for name in pairs(values) do
            need(types[name], "has a field that nothing reads, '%s%s'", prefix, tostring(name))
        end
    end
    check_fields(set, fields, "")
    for name, types in pairs(inner_fields) do
        check_fields(set[name], types, name .. ".")
    end
    need(set.id:find("^%l[%w_.]*$"), "has a name that files and symbols of C cannot bear: "
        .. "right is a small letter, then letters, digits, _ and .")
    for _, other in pairs(others) do
        need(set.id ~= other.id, "is there twice")
        need(set.order ~= other.order, "has the order of '%s', %s", other.id, set.order)
    end
    need(16 % set.lanes == 0, "has lanes that do not divide 16, the number of partial sums")
    local arch = cpu.archs[set.arch]
    need(arch, "is of an architecture that gen/cpu.lua lacks, '%s'", set.arch)
    for _, name in ipairs(set.needs) do
        need(arch.features[name], "needs a feature that gen/cpu.lua lacks for %s, '%s'", set.arch,
            name)
    end
    need(set.test.native or set.test.run, "has no test: right is native = true, or run, the words "
        .. "of an emulator's command")
    local tiles = set.tiles
    local held = tiles.score_rows * tiles.score_vectors + (set.factor and 1 or 2)
    need(held <= set.registers, "has tiles of %d x %d sums, which take %d registers with an "
        .. "operand and a broadcast, of %d", tiles.score_rows, tiles.score_vectors, held,
        set.registers)

    local own = {}
    for name in pairs(set.functions or {}) do
        own[name] = true
    end
    local known, callable = {}, { vector = true, lanes = true, key_tile = true }
    for _, group in ipairs { operations, rounding[1], rounding[2], optional } do
        for name, count in pairs(group) do
            known[name] = count
        end
    end
    for _, row in ipairs(functions) do
        known[row.name] = row.count
        own[row.name] = nil
    end
    need(not next(own), "has a function that no template uses, '%s'", next(own) or "")
    local function has(names)
        for name in pairs(names) do
            if not set.ops[name] then return false, name end
        end
        return true
    end
    local whole, lacking = has(operations)
    need(whole, "lacks the operation '%s'", lacking)
    need(has(rounding[1]) or has(rounding[2]),
        "lacks zero_below, or minus_rounded and scale_unless_below")

    -- What patterns and bodies call must be there, else only a compiler would miss it.
    for name in pairs(known) do
        callable[name] = true
    end
    for _, helper in ipairs(set.helpers or {}) do
        callable[helper.name] = true
    end
    local function check_calls(name, text)
        for called in text:gmatch("%$(%a[%w_]*)") do
            need(callable[called], "calls in '%s' what it lacks, '$%s'", name, called)
        end
    end
    for name, pattern in pairs(set.ops) do
        need(known[name], "has an operation that no template uses, '%s'", name)
        for index in pattern:gmatch("%$(%d)") do
            need(tonumber(index) <= known[name], "has '%s' with $%s, of %d arguments", name, index,
                known[name])
        end
        check_calls(name, pattern)
    end
    for name, body in pairs(set.functions or {}) do
        check_calls(name, body)
    end
    for _, helper in ipairs(set.helpers or {}) do
        check_calls(helper.name, helper.body)
    end
end

local loaded
local function load_all()
    local sets, by_id = {}, {}
    for _, path in ipairs(attnc.list()) do
        if path:match("^templates/isa/[%w_]+%.lua$") then
            local env = { ipairs = ipairs, string = string, table = table }
            local made = assert(load(attnc.text(path), "@" .. path, "t", env))()
            for _, set in ipairs(made.id and { made } or made) do
                check(set, path, by_id)
                set.symbol = set.id:gsub("%W", "_") -- in names of C and of files
                set.guard = cpu.guard(set)
                sets[#sets + 1], by_id[set.id] = set, set
            end
        end
    end
    table.sort(sets, function(a, b)
        return a.order < b.order
    end)
    return { sets = sets, by_id = by_id }
end

function isa.all()
    loaded = loaded or load_all()
    return loaded.sets
end

function isa.get(id)
    isa.all()
    return assert(loaded.by_id[id], id)
end

-- words.<operation>(C texts) -> C text; words.has: what the set has of its own; words.call(name,
-- ...): a call of a function of the written file. `written()` -> the functions that the words used
-- so far need, each {name=, gives=, takes=, about=, body= array of lines}: what stands before them.
function isa.vocabulary(set, prefix, key_tile)
    local words, has, used, by_name, order = {}, {}, {}, {}, {}
    local fixed =
        { vector = set.vector, lanes = tostring(set.lanes), key_tile = tostring(key_tile) }

    -- Replaces $name in a text; operations take arguments in parentheses.
    local function expand(text)
        text = text:gsub("%$(%a[%w_]*)(%b())", function(name, list)
            if by_name[name] or not set.ops[name] then
                return nil
            end
            local arguments = {}
            for argument in (list:sub(2, -2) .. ","):gmatch("%s*([^,]-)%s*,") do
                arguments[#arguments + 1] = argument
            end
            return words[name](table.unpack(arguments))
        end)
        return (text:gsub("%$(%a[%w_]*)", function(name)
            if fixed[name] then
                return fixed[name]
            end
            used[name] = true
            return prefix .. "_" .. name
        end))
    end

    function words.call(name, ...)
        used[name] = true
        return ("%s_%s(%s)"):format(prefix, name, table.concat({ ... }, ", "))
    end
    for operation, pattern in pairs(set.ops) do
        has[operation] = true
        words[operation] = function(...)
            local arguments = { ... }
            local text = pattern:gsub("%$(%d)", function(index)
                local argument = arguments[tonumber(index)]
                return assert(argument, operation .. " lacks argument " .. index)
            end)
            return expand(text)
        end
    end
    local function add(row, body)
        by_name[row.name] = { name = row.name, gives = row.gives, takes = row.takes,
            about = row.about, body = body }
        order[#order + 1] = row.name
    end
    for _, helper in ipairs(set.helpers or {}) do
        add(helper, helper.body)
    end
    for _, row in ipairs(functions) do
        local body = (set.functions or {})[row.name]
        if not set.ops[row.name] and (body or row.body) then
            has[row.name] = body ~= nil
            add(row, body or row.body)
            words[row.name] = function(...)
                return words.call(row.name, ...)
            end
        end
    end
    words.has = has
    words.spread = words.spread or words.set1
    words.fma_spread = words.fma_spread or words.fma

    return words, function()
        local bodies, again = {}, true
        while again do -- a body may use further functions
            again = false
            for _, name in ipairs(order) do
                if used[name] and not bodies[name] then
                    local row, lines = by_name[name], {}
                    for line in (row.body:gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
                        lines[#lines + 1] = expand(line)
                    end
                    bodies[name] = { name = name, gives = expand(row.gives),
                        takes = expand(row.takes), about = expand(row.about), body = lines }
                    again = true
                end
            end
        end
        local list = {}
        for _, name in ipairs(order) do
            list[#list + 1] = bodies[name]
        end
        return list
    end
end

return isa
