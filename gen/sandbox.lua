-- The names that a spec may use. Runs once in each sandboxed state, before the spec; the host sets
-- the memory, instruction and time limits. Left out on purpose: whatever reads files or loads
-- code, catches errors (pcall would catch the limits), matches patterns (they can run for ages) or
-- differs from run to run (next, random, addresses in texts).
local next, type, error, tostring, sort = next, type, error, tostring, table.sort
local format, find = string.format, string.find

local function pick(library, names)
    local picked = {}
    for name in names:gmatch("%S+") do picked[name] = library[name] end
    return picked
end

local env = pick(_G, "assert error ipairs select tonumber type")
env.math = pick(math, [[abs ceil cos exp floor fmod huge log max maxinteger min mininteger modf pi
    sin sqrt tan tointeger type ult]])
env.string = pick(string, "byte char len lower rep reverse sub upper")
env.table = pick(table, "concat insert pack remove sort unpack")

local function plain(value)
    local kind = type(value)
    return kind == "string" or kind == "number" or kind == "boolean" or kind == "nil"
end

function env.tostring(value)
    return plain(value) and tostring(value) or type(value)
end

function env.string.format(text, ...)
    if find(text, "%%[^%a%%]*p") then error("string.format has no %p here", 2) end
    for i = 1, select("#", ...) do
        if not plain((select(i, ...))) then
            error("string.format takes numbers, strings and booleans here", 2)
        end
    end
    return format(text, ...)
end

-- Numbers before strings before booleans, each ascending: the same order in every run.
local rank = { number = 1, string = 2, boolean = 3 }
local function before(a, b)
    local x, y = rank[type(a)], rank[type(b)]
    if x ~= y then return x < y end
    if x == 3 then return b and not a end
    return a < b
end

function env.pairs(t)
    if type(t) ~= "table" then error("pairs takes a table, not a " .. type(t), 2) end
    local keys, n, i = {}, 0, 0
    for key in next, t do
        if not rank[type(key)] then error("pairs cannot order keys that are a " .. type(key), 2) end
        n = n + 1
        keys[n] = key
    end
    sort(keys, before)
    return function()
        i = i + 1
        return keys[i], t[keys[i]]
    end
end

local function forbid(library, prefix)
    return setmetatable(library, {
        __index = function(_, name)
            error(format("'%s%s' is not defined: a spec has locals, arithmetic, math, string, "
                .. "table, pairs, ipairs, select, tostring, tonumber, type, assert and error; "
                .. "nothing that reads files, loads code, catches errors or matches patterns",
                prefix, tostring(name)), 2)
        end,
    })
end

getmetatable("").__index = forbid(env.string, "string.")
forbid(env.table, "table.")
forbid(env.math, "math.")
return forbid(env, "")
