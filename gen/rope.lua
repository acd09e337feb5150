--- Rotary positions: what a scaling needs, and the numbers that a kernel turns by.
--
-- rope.types                    the scalings' names, for the schema
-- rope.numbers(type)            -> arrays of names: the fields that a scaling needs, and may have
-- rope.scaling(given, wrong)    -> scaling with its defaults. given: the spec's table, checked
--     field by field; wrong(field, text) refuses it, and does not return
-- rope.fits(shape, wrong)       checks shape.rope.scaling against the rest of the shape
-- rope.switches(shape)          whether long sequences turn otherwise than short ones: longrope
--     where both are possible
-- rope.constants(shape)         -> what the templates write, as C texts: see there
--
-- The scalings are those of transformers (modeling_rope_utils), by its names of parameters:
-- docs/conventions.md has them as formulas. All is computed with +, -, *, / and sqrt alone, so that
-- a constant depends on no platform's libm.
local series = require "series"
local rope = {}
local exp, ln = series.exp, series.ln

local PI = 3.14159265358979323846

local function clamp(x)
    return math.max(0.0, math.min(1.0, x))
end

-- ---- the scalings ----

-- Each: needs, takes: its fields; frequency(scaling, r, i, w): what the i-th pair turns by at each
-- position, in radians, where w is theta^(-2i / rotary_dim).
local scalings = {
    linear = { needs = "factor", takes = "" },
    dynamic = { needs = "factor original_max_position_embeddings", takes = "" },
    llama3 = {
        needs = "factor low_freq_factor high_freq_factor original_max_position_embeddings",
        takes = "",
    },
    yarn = {
        needs = "factor original_max_position_embeddings",
        takes = "beta_fast beta_slow truncate attention_factor mscale mscale_all_dim",
    },
    longrope = {
        needs = "short_factor long_factor original_max_position_embeddings",
        takes = "factor attention_factor",
    },
    proportional = { needs = "", takes = "factor" },
}
rope.types = { "linear", "dynamic", "llama3", "yarn", "longrope", "proportional" }

function rope.numbers(kind)
    local lists = {}
    for i, names in ipairs { scalings[kind].needs, scalings[kind].takes } do
        lists[i] = {}
        for name in names:gmatch("%S+") do
            table.insert(lists[i], name)
        end
    end
    return lists[1], lists[2]
end

function scalings.linear.frequency(scaling, _, _, w)
    return w / scaling.factor
end

scalings.proportional.frequency = scalings.linear.frequency

-- theta grows with the length of the sequence; a kernel has one length.
function scalings.dynamic.frequency(scaling, r, i)
    local original = scaling.original_max_position_embeddings
    local length = math.max(r.length, original)
    local growth = scaling.factor * length / original - (scaling.factor - 1)
    local log_theta = ln(r.theta) + ln(growth) * r.rotary_dim / (r.rotary_dim - 2)
    return exp(-log_theta * i / (r.rotary_dim // 2))
end

function scalings.llama3.frequency(scaling, _, _, w)
    local turns = scaling.original_max_position_embeddings * w / (2 * PI)
    local low, high = scaling.low_freq_factor, scaling.high_freq_factor
    local smooth = clamp((turns - low) / (high - low))
    return (1 - smooth) * w / scaling.factor + smooth * w
end

function scalings.yarn.frequency(scaling, r, i, w)
    -- the pair, as a real number, that turns so many times in the original length
    local function pair_of(turns)
        local positions = scaling.original_max_position_embeddings / (turns * 2 * PI)
        return r.rotary_dim * ln(positions) / (2 * ln(r.theta))
    end
    local low, high = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
    if scaling.truncate then
        low, high = math.floor(low), math.ceil(high)
    end
    low, high = math.max(low, 0), math.min(high, r.rotary_dim - 1)
    if low == high then
        high = high + 0.001
    end
    local ramp = clamp((i - low) / (high - low))
    return w / scaling.factor * ramp + w * (1 - ramp)
end

function scalings.longrope.frequency(scaling, r, i, w)
    return w / (r.long and scaling.long_factor or scaling.short_factor)[i + 1]
end

local function listed(names, name)
    return (" " .. names .. " "):find(" " .. name .. " ", 1, true) ~= nil
end

local function magnitude(factor, weight)
    return factor <= 1 and 1.0 or 0.1 * weight * ln(factor) + 1.0
end

-- What yarn and longrope multiply cosine and sine with; nil if it does not follow from the rest.
local function attention_factor(scaling)
    local factor, over, under = scaling.factor, scaling.mscale, scaling.mscale_all_dim
    if scaling.attention_factor or not factor then
        return scaling.attention_factor
    elseif scaling.type == "yarn" then
        return over and under and magnitude(factor, over) / magnitude(factor, under)
            or magnitude(factor, 1)
    elseif factor <= 1 then
        return 1.0
    end
    return math.sqrt(1 + ln(factor) / ln(scaling.original_max_position_embeddings))
end

function rope.scaling(given, wrong)
    local kind = given.type and scalings[given.type]
    if not kind then
        wrong("type", 'missing; it takes "' .. table.concat(rope.types, '", "') .. '"')
    end
    local scaling, names = {}, {}
    for name in pairs(given) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        if name ~= "type" and not listed(kind.needs .. " " .. kind.takes, name) then
            wrong(name, ('"%s" has no such number; leave it out'):format(given.type))
        end
        scaling[name] = given[name]
    end
    for name in kind.needs:gmatch("%S+") do
        if given[name] == nil then
            wrong(name, ('missing; "%s" needs it'):format(given.type))
        end
    end
    if given.type == "llama3" and given.high_freq_factor <= given.low_freq_factor then
        wrong("high_freq_factor", ("not above low_freq_factor = %g"):format(given.low_freq_factor))
    elseif given.type == "yarn" then
        scaling.beta_fast = given.beta_fast or 32.0
        scaling.beta_slow = given.beta_slow or 1.0
        scaling.truncate = given.truncate == nil or given.truncate
        if scaling.beta_fast < scaling.beta_slow then
            wrong("beta_fast", ("below beta_slow = %g"):format(scaling.beta_slow))
        elseif (given.mscale == nil) ~= (given.mscale_all_dim == nil) then
            wrong(given.mscale and "mscale_all_dim" or "mscale", "missing; mscale and "
                .. "mscale_all_dim count together only, attention_factor alone")
        end
    elseif given.type == "longrope" then
        if not given.attention_factor and not given.factor then
            wrong("attention_factor", "missing; give it, or factor (the model's longest sequence "
                .. "as a multiple of the original one)")
        elseif not given.attention_factor and given.factor > 1
            and given.original_max_position_embeddings < 2 then
            wrong("original_max_position_embeddings", "too short for an attention_factor")
        end
    elseif given.type == "proportional" then
        scaling.factor = given.factor or 1.0
    end
    if given.type == "yarn" or given.type == "longrope" then
        scaling.attention_factor = attention_factor(given)
        scaling.mscale, scaling.mscale_all_dim = nil, nil
        if given.type == "longrope" then
            scaling.factor = nil
        end
    end
    return scaling
end

function rope.fits(shape, wrong)
    local r = shape.rope
    local scaling, count = r.scaling, r.rotary_dim // 2
    if scaling.type == "dynamic" and r.rotary_dim < 4 then
        wrong("type", '"dynamic" needs a rotary_dim of at least 4')
    elseif scaling.type == "yarn" and r.theta <= 1 then
        wrong("type", '"yarn" needs a theta above 1')
    elseif scaling.type == "proportional" and shape.head_dim % 2 ~= 0 then
        wrong("type", '"proportional" needs an even head_dim')
    end
    for _, name in ipairs { "short_factor", "long_factor" } do
        if scaling[name] and #scaling[name] ~= count then
            wrong(name, ("%d numbers; it takes one for each of the %d channel pairs that turn")
                :format(#scaling[name], count))
        end
    end
end

-- ---- constants ----

local function is_long(shape)
    return shape.capacity > shape.rope.scaling.original_max_position_embeddings
end

function rope.switches(shape)
    local scaling = shape.rope and shape.rope.scaling
    return scaling ~= nil and scaling.type == "longrope" and is_long(shape) and not shape.exact
end

-- Turns per position of each pair, as 64-bit fractions of a circle (Su et al., RoFormer, 2021).
local function turns(shape, long)
    local r, list = shape.rope, {}
    local scaling, count = r.scaling, r.rotary_dim // 2
    local exponents = scaling and scaling.type == "proportional" and shape.head_dim // 2 or count
    local facts =
        { theta = r.theta, rotary_dim = r.rotary_dim, length = shape.capacity, long = long }
    for i = 0, count - 1 do
        local w = exp(-ln(r.theta) * i / exponents)
        if scaling then
            w = scalings[scaling.type].frequency(scaling, facts, i, w)
        end
        list[i + 1] = ("UINT64_C(%.0f)"):format(math.floor(w / (2 * PI) % 1 * 0x1p64 + 0.5))
    end
    return list
end

--- turns: array of 64-bit fractions of a circle, a pair each; long_turns: those of long sequences,
-- if rope.switches. distance: channels between those of a pair in the layout "half". cos_terms,
-- sin_terms, terms: Taylor series of an eighth turn in units of 2^-62. factor: nil, or what cosine
-- and sine are multiplied with, in units of 2^-factor_bits.
function rope.constants(shape)
    local r, scaling = shape.rope, shape.rope.scaling
    local switches = rope.switches(shape)
    local constants = { terms = 9 }
    constants.turns =
        turns(shape, scaling and scaling.type == "longrope" and not switches and is_long(shape))
    constants.long_turns = switches and turns(shape, true) or nil
    constants.distance = (scaling and scaling.type == "proportional" and shape.head_dim
        or r.rotary_dim) // 2
    local factor = scaling and scaling.attention_factor or 1
    if factor ~= 1 then
        constants.factor_bits = 62
        while factor > 2.0 ^ (62 - constants.factor_bits) do
            constants.factor_bits = constants.factor_bits - 1
        end
        constants.factor = ("INT64_C(%d)"):format(
            math.floor(factor * 2.0 ^ constants.factor_bits + 0.5))
    end
    local cos_terms, sin_terms, term = {}, {}, 1.0
    for k = 0, 2 * constants.terms - 1 do
        local fixed = math.floor(term * 0x1p62 + 0.5) * (k // 2 % 2 == 0 and 1 or -1)
        local terms = k % 2 == 0 and cos_terms or sin_terms
        terms[#terms + 1] = ("INT64_C(%d)"):format(fixed)
        term = term * (PI / 4) / (k + 1)
    end
    constants.cos_terms = table.concat(cos_terms, ", ")
    constants.sin_terms = table.concat(sin_terms, ", ")
    return constants
end

return rope
