--- Draws random specs for `make fuzz` (tests/fuzz/run).
--
--     lua5.4 tests/fuzz/draw.lua SEED FIRST COUNT DIR ISA...
--
-- writes DIR/fuzz_SEED_I.lua for I = FIRST .. FIRST + COUNT - 1, each for one of the ISA, lists of
-- instruction sets with commas. A spec depends on SEED and I only. Two of three are valid by the
-- tables below and begin with "-- valid"; the others were spoilt at random, "-- spoilt", and may or
-- may not be what attnc takes.
--
-- Fields, kinds, ranges and choices are those of the schema in gen/spec.lua. This file says what
-- the schema can't: which values are worth a try, and what goes together. A field that the schema
-- has and this file can't draw is an error: see `features`.
package.path = "gen/?.lua"
local block_rules = require "block"
local rope = require "rope"
local spec = require "spec"

-- ---- chance ----

-- Random numbers by splitmix64, the same with every Lua.
local function dice(seed, index)
    local state = seed * 0x9E3779B97F4A7C15 ~ index * 0xD1B54A32D192ED03
    local d = {}

    function d.bits()
        state = state + 0x9E3779B97F4A7C15
        local z = state
        z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
        z = (z ~ z >> 27) * 0x94D049BB133111EB
        return (z ~ z >> 31) >> 1
    end

    -- a whole number from least to most
    function d.whole(least, most)
        return least + d.bits() % (most - least + 1)
    end

    function d.pick(list)
        return list[d.whole(1, #list)]
    end

    -- true in so many of a hundred cases
    function d.chance(percent)
        return d.bits() % 100 < percent
    end

    -- from least to most, all sizes alike, of few digits
    function d.size(least, most)
        local share = d.whole(0, 1000) / 1000
        return tonumber(("%.3g"):format(least * (most / least) ^ share)) + 0.0
    end

    -- one of the list as far as it lies between least and most, or any number between
    function d.near(list, least, most)
        local fits = {}
        for _, each in ipairs(list) do
            if each >= least and each <= most then
                fits[#fits + 1] = each
            end
        end
        if #fits == 0 or d.chance(25) then
            return d.whole(least, most)
        end
        return d.pick(fits)
    end

    return d
end

-- ---- the shape: in every spec ----

local WIDTHS = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 47, 48, 63, 64, 65,
    72, 80, 96, 112, 127, 128, 129, 160, 192, 200, 255, 256, 257, 320, 511, 512, 513, 575, 576 }
-- Around the edges of vectors, key tiles, panels and blocks.
local LENGTHS = { 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 95, 96, 97, 127, 128, 129,
    255, 256, 257, 300, 480, 511, 512, 513, 543, 544, 545, 700, 1023, 1024, 1025, 1056, 1057 }
local HEADS = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 20, 24, 32, 40, 64, 71, 96, 128 }

local function width(d)
    return d.chance(75) and d.near(WIDTHS, 1, 80) or d.near(WIDTHS, 81, 576)
end

-- In this order. Sizes are bounded together, so that a test takes a second or two.
local function draw_shape(d)
    local it = { head_dim = width(d) }
    it.v_head_dim = d.chance(35) and width(d) or nil
    local widths = it.head_dim + (it.v_head_dim or it.head_dim)
    local most = math.max(2, math.min(128, (d.chance(10) and 12000 or 1500) // widths))
    it.heads = d.near(HEADS, 1, most)
    local divisors = {}
    for divisor = 1, it.heads do
        divisors[#divisors + 1] = it.heads % divisor == 0 and divisor or nil
    end
    it.kv_heads = d.chance(70) and d.pick(divisors) or nil
    local length = d.near(LENGTHS, 1,
        math.max(33, math.min(1100, (1 << 19) // ((it.kv_heads or it.heads) * widths))))
    it[d.chance(20) and "seq" or "max_seq"] = length
    return it
end

local function capacity(it)
    return it.seq or it.max_seq
end

local function window(d, it)
    return d.near(LENGTHS, 1, capacity(it) + 2)
end

-- ---- the features: in some specs ----

local function even_up_to(d, most)
    return 2 * d.near({ 1, 2, 3, 4, 8, 15, 16, 17, 32, 64 }, 1, most // 2)
end

-- What a field may be, by its path, where any choice of the schema will not do: a function of
-- (dice, spec so far, group so far). nil leaves the field out.
local values = {
    ["scale"] = function(d, it) return d.size(0.05, 4) / math.sqrt(it.head_dim) end,
    ["softcap"] = function(d) return d.size(0.5, 100) end,
    ["window"] = window,
    ["window_right"] = window,
    ["cache"] = function(d, it)
        local ring = it.window and (it.causal or it.window_right)
        return ring and d.pick { "linear", "ring", "ring", "ring" } or "linear"
    end,
    ["cross.max_seq"] = function(d) return d.near(LENGTHS, 1, 1100) end,
    ["cross.d_model"] = function(d, it)
        return it.emit ~= "attention" and d.near(WIDTHS, 1, 300) or nil
    end,
    ["d_model"] = function(d) return d.near(WIDTHS, 1, 300) end,
    ["mask.heads"] = function(d, _, mask)
        return mask.type == "bias" and d.pick { "shared", "each" } or nil
    end,
    ["alibi.bias_max"] = function(d) return d.size(0.5, 20) end,
    ["alibi.scale"] = function(d) return d.size(0.01, 2) end,
    ["rope.theta"] = function(d) return d.pick { 1.5, 100, 10000, 500000, 1e6, 1e7 } + 0.0 end,
    ["rope.rotary_dim"] = function(d, it)
        return it.mla and it.mla.rope_dim or even_up_to(d, it.head_dim)
    end,
    ["rope.offset"] = function(d) return d.pick { 1, 7, 100, 5000, 1 << 20 } end,
    ["qk_norm.order"] = function(d, it)
        return it.rope and d.pick { "before_rope", "after_rope" } or "no_rope"
    end,
    ["qk_norm.weights"] = function(d, _, norm)
        return norm.width ~= "full" and d.pick { "shared", "per_head" } or nil
    end,
    ["qk_norm.eps"] = function(d) return d.pick { 1e-12, 1e-6, 1e-5, 1e-3, 0.25 } end,
    ["block.parallel_norms"] = function(d, _, block)
        return block.place == "parallel" and d.whole(1, 2) or nil
    end,
    ["clip_qkv"] = function(d) return d.size(0.05, 3) end,
    ["relative_bias.buckets"] = function(d) return 2 * d.whole(2, 20) end,
    ["relative_bias.max_distance"] = function(d) return d.whole(21, 300) end,
    ["block.eps"] = function(d) return d.pick { 1e-12, 1e-6, 1e-5, 1e-3, 0.25 } end,
    ["block.ffn"] = function(d, _, block)
        local part = block.place ~= "parallel" and block.attention_norm ~= false and d.chance(30)
        return part and 0 or d.near(WIDTHS, 1, 600)
    end,
    ["block.attention_norm"] = function(d, _, block)
        return (block.place or "pre") ~= "pre" or d.chance(50)
    end,
    ["block.act"] = function(d, _, block)
        return block.ffn > 0 and d.pick(block_rules.acts) or nil
    end,
    ["block.gated"] = function(d, _, block) return block.ffn > 0 and d.chance(50) end,
    ["block.bias"] = function(d, _, block) return block.ffn > 0 and d.chance(50) end,
    ["block.residual_multiplier"] = function(d, _, block)
        return not block.layer_scale and d.size(0.05, 4) or nil
    end,
    ["tile.query_rows"] = function(d) return d.whole(1, 40) end,
    ["tile.score_vectors"] = function(d) return 1 << d.whole(0, 3) end,
    -- a multiple of what a tile takes, with 16 lanes too
    ["tile.score_keys"] = function(d, _, tile)
        tile.score_vectors = 1 << d.whole(0, 3)
        local step = math.max(32, 16 * tile.score_vectors)
        return step * d.whole(1, math.min(6, 512 // step))
    end,
    ["tile.score_rows"] = function(d) return d.whole(1, 9) end,
    ["tile.value_vectors"] = function(d) return d.whole(1, 5) end,
    ["tile.value_keys"] = function(d, it)
        return it.mask and 32 * d.whole(1, 3) or d.whole(32, 100)
    end,
    ["tile.project_rows"] = function(d) return d.whole(1, 9) end,
    ["unroll"] = function(d) return d.near({ 1, 2, 3, 4, 5, 7, 8, 16 }, 1, 40) end,
    ["emit"] = function(d, it)
        local layer = it.rope or it.qk_norm or it.clip_qkv or it.mla or it.d_model
            or it.qkv_bias or it.o_bias or it.weights_layout or it.cross and it.cross.d_model
        return it.block and "block" or layer and "layer" or d.pick { "attention", "layer" }
    end,
}

-- Fields of a group that it can't do without: functions of the spec so far.
local needed = {
    ["cross.max_seq"] = function() return true end,
    ["block.act"] = function(it) return it.block.ffn > 0 end,
    ["rope.rotary_dim"] = function(it) return not it.mla and it.head_dim % 2 ~= 0 end,
}

local function numbers(d, count, most)
    local list = {}
    for i = 1, count do
        list[i] = d.size(1, most)
    end
    return list
end

-- Keys and values from a latent decide much of the rest.
values["mla"] = function(d, it)
    local own = {
        kv_rank = d.chance(80) and d.near(WIDTHS, 1, 80) or d.near(WIDTHS, 81, 300),
        q_rank = d.chance(50) and d.near(WIDTHS, 1, 100) or nil,
        nope_dim = d.near(WIDTHS, 1, 80),
        rope_dim = even_up_to(d, 32),
        eps = d.chance(50) and d.pick { 1e-6, 1e-5, 1e-3 } or nil,
        expand = d.chance(50) and d.near(LENGTHS, 1, capacity(it) + 2) or nil,
    }
    it.heads = math.min(it.heads, math.max(1, 2000 // (2 * own.kv_rank + own.rope_dim)))
    it.kv_heads, it.head_dim = nil, own.nope_dim + own.rope_dim
    it.causal, it.window_right = true, nil
    it.rope = {}
    return own
end

-- A scaling has the numbers of its type only.
values["rope.scaling"] = function(d, it)
    local dim = it.mla and it.mla.rope_dim or it.rope.rotary_dim or it.head_dim
    local some = {
        factor = function() return d.size(1, 64) end,
        original_max_position_embeddings = function() return d.near(LENGTHS, 2, 2000) end,
        low_freq_factor = function() return d.size(0.5, 2) end,
        high_freq_factor = function() return d.size(2.5, 8) end,
        beta_fast = function() return d.size(8, 64) end,
        beta_slow = function() return d.size(0.5, 4) end,
        truncate = function() return d.chance(50) end,
        attention_factor = function() return d.size(0.5, 2) end,
        mscale = function() return d.size(0.5, 1.5) end,
        mscale_all_dim = function() return d.size(0.5, 1.5) end,
        short_factor = function() return numbers(d, dim // 2, 2) end,
        long_factor = function() return numbers(d, dim // 2, 40) end,
    }
    local scaling = { type = d.pick(rope.types) }
    if scaling.type == "dynamic" and dim < 4
        or scaling.type == "proportional" and (it.mla or it.head_dim % 2 ~= 0) then
        return nil
    end
    local needs, takes = rope.numbers(scaling.type)
    for _, name in ipairs(needs) do
        scaling[name] = some[name]()
    end
    for _, name in ipairs(takes) do
        scaling[name] = d.chance(40) and some[name]() or nil
    end
    if not (scaling.mscale and scaling.mscale_all_dim) then -- they count together
        scaling.mscale, scaling.mscale_all_dim = nil, nil
    end
    if scaling.type == "longrope" and not scaling.factor then
        scaling.attention_factor = some.attention_factor()
    end
    return scaling
end

-- What specs have besides a shape, in order: a later one knows the earlier ones. `unless` says
-- when the field is impossible. A new field of the schema is a row here and, where not any choice
-- of the schema is possible, a function of `values`.
local function is_causal(it) return it.causal end
local function is_narrow(it) return it.head_dim < 2 end
local function has_latent(it) return it.mla end
local function has_positions(it)
    return it.seq or it.causal or it.window or it.window_right or it.alibi or it.rope or it.mla
        or it.relative_bias
end
local features = {
    { "causal" },
    { "window" },
    { "window_right", unless = is_causal },
    { "cache" },
    { "scale" },
    { "softcap" },
    { "sinks" },
    { "alibi" },
    { "relative_bias" },
    { "mla" },
    { "mask" },
    { "key_range" },
    { "lse" },
    { "rope", unless = is_narrow },
    { "cross", unless = has_positions },
    { "qk_norm", unless = has_latent },
    { "clip_qkv", unless = has_latent },
    { "qkv_bias" },
    { "o_bias" },
    { "weights_layout" },
    { "d_model" },
    { "tile" },
    { "unroll" },
    { "block" },
    { "emit" },
}
-- Fields that draw_shape and draw fill in themselves.
local others = { name = true, heads = true, kv_heads = true, head_dim = true, v_head_dim = true,
    seq = true, max_seq = true, isa = true }

local top = {}
for _, row in ipairs(spec.fields) do
    top[row.name] = row
end

local draw_value

local function draw_group(d, row, it, path)
    local group = {}
    if path == row.name then
        it[path] = group -- for the values' functions
    end
    for _, each in ipairs(row.fields) do
        local own = path .. "." .. each.name
        local must = each.default == "required" or needed[own] and needed[own](it)
        if group[each.name] == nil and (must or d.chance(50)) then
            group[each.name] = draw_value(d, each, it, own, group)
        end
    end
    return group
end

function draw_value(d, row, it, path, group)
    if values[path] then
        return values[path](d, it, group)
    elseif row.kind == "boolean" then
        return d.chance(group and 50 or 100)
    elseif row.kind == "choice" then
        return d.pick(row.of)
    elseif row.kind == "optional" and d.chance(50) then
        return true
    elseif row.fields then
        return draw_group(d, row, it, path)
    end
    error(("tests/fuzz/draw.lua cannot draw the field '%s': give it a function in `values`")
        :format(path), 0)
end

local function draw_features(d, it)
    local possible, count = {}, d.pick { 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 6, #features }
    for i = 1, #features do
        possible[i] = i
    end
    for i = 1, #features do -- the first `count` of them shuffled are wanted
        local other = d.whole(i, #features)
        possible[i], possible[other] = possible[other], possible[i]
    end
    local wanted = {}
    for i = 1, count do
        wanted[possible[i]] = true
    end
    for i, feature in ipairs(features) do
        local name = feature[1]
        if wanted[i] and not (feature.unless and feature.unless(it)) then
            it[name] = draw_value(d, top[name], it, name)
        end
    end
end

local function check_table()
    local known = {}
    for _, feature in ipairs(features) do
        known[feature[1]] = true
        assert(top[feature[1]] and top[feature[1]].kind ~= "unbuilt", feature[1])
    end
    for _, row in ipairs(spec.fields) do
        if row.kind ~= "unbuilt" and not (known[row.name] or others[row.name]) then
            error(("tests/fuzz/draw.lua: the field '%s' is not in its table `features`"):format(
                row.name), 0)
        end
    end
end

-- ---- spoilt specs ----

local NONSENSE = { -1, 0, 1, 2, 3, 7, 33, 64, 1000, 1024, 1025, 1 << 24, 1 << 40, math.mininteger,
    0.5, 1.5, -0.0, 1e30, 1e-30, 1e308, 0 / 0, 1 / 0, -1 / 0, "", "full", "none", "half", "rmsnorm",
    true, false, {}, { 1, 2 }, { x = 1 }, { type = "linear" }, { true } }

-- A value of the field's kind, mostly, at the ends of its range or beyond.
local function wrong_value(d, row)
    if row.of then
        return d.pick(row.of)
    elseif row.kind == "boolean" then
        return d.chance(50)
    elseif row.kind == "integer" then
        local between = math.floor(d.size(math.max(row.min, 1), row.max))
        return d.pick { row.min, row.min - 1, row.max, row.max + 1, between, between }
    elseif row.kind == "number" then
        local between = d.size(math.max(row.min, 1e-30), row.max)
        return d.pick { row.min, row.max, row.min / 2, row.max * 2, between, between }
    end
    return d.pick(NONSENSE)
end

-- Changes a field somewhere in the spec, or a name, or two.
local function spoil(d, it)
    for _ = 1, d.whole(1, 2) do
        local group, rows = it, spec.fields
        local row = d.pick(rows)
        while row.fields and d.chance(70) do
            if type(group[row.name]) ~= "table" then
                group[row.name] = {}
            end
            group, row = group[row.name], d.pick(row.fields)
        end
        local name = row.name
        if d.chance(10) then
            name = name .. d.pick { "s", "_", "x" }
        elseif d.chance(10) then
            name = name:sub(2)
        end
        group[name] = d.chance(40) and d.pick(NONSENSE) or wrong_value(d, row)
        if row.default == "required" and d.chance(30) then
            group[row.name] = nil
        end
    end
end

-- ---- writing ----

local function draw(seed, index, isas)
    local d = dice(seed, index)
    local it = draw_shape(d)
    draw_features(d, it)
    it.name = ("fuzz_%d_%d"):format(seed, index)
    it.isa = {}
    for id in d.pick(isas):gmatch("[^,]+") do
        table.insert(it.isa, id)
    end
    local spoilt = index % 3 == 0
    if spoilt then
        spoil(d, it)
    end
    local text = spec.literal(it):gsub("%f[%w]nan%f[%W]", "0 / 0"):gsub("%f[%w]inf%f[%W]", "1 / 0")
    return ("-- %s\n-- seed %d, spec %d of tests/fuzz/draw.lua\nreturn %s\n"):format(
        spoilt and "spoilt" or "valid", seed, index, text)
end

check_table()
local seed, first, count = math.tointeger(arg[1]), math.tointeger(arg[2]), math.tointeger(arg[3])
for index = first, first + count - 1 do
    local file <close> =
        assert(io.open(("%s/fuzz_%d_%d.lua"):format(arg[4], seed, index), "w"))
    assert(file:write(draw(seed, index, table.move(arg, 5, #arg, 1, {}))))
end
