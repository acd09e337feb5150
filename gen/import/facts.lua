--- How facts of a model are read out of its config: keys with kinds and defaults, refusals, rotary
-- positions in all their spellings.
--
-- facts.reader(file, values)    -> reader of a JSON object, in which null is facts.null
-- facts.new(reader, layers)     -> facts: f.name looks the name's rule up in the tables of `layers`
--     (the first that has it) and computes it once. A rule is a constant, a key made by the
--     constructors below, or a function(f). f:with(table) -> facts with other rules in front.
-- facts.complete(f)             computes every fact, and what follows for any attention
-- facts.fits(path, value)       -> whether a spec's field takes the value, and what it takes
-- facts.size, .number, ...      (names, default, null): a key of the config. names: the spellings,
--     of which all that are given must agree; default: its configuration class's, used where the
--     key is absent, facts.null if that is None; null: what null stands for, a constant or a
--     function(f), without it null is refused. facts.must: absent is refused, too, except in a
--     part of a larger model, which leaves out what is as the class has it. facts.of(path): the
--     constructor of keys with the range of a spec's field; .heads, .eps, ... are such.
-- Problems raise {refusal = message}.
local spec = require "spec"

local facts = {}

facts.null = setmetatable({}, { __name = "null", __tostring = function() return "null" end })

-- ---- text ----

--- A number as people write it: 10000, 0.25.
function facts.plain(value)
    local whole = math.tointeger(value)
    return whole and ("%d"):format(whole) or ("%.9g"):format(value)
end

--- Numbers of layers, ascending: "0, 2, ..., 24", "0-4, 6-10", "3".
function facts.layer_list(layers)
    local step = #layers > 3 and layers[2] - layers[1]
    for i = 2, #layers do
        step = step and layers[i] - layers[i - 1] == step and step
    end
    if step and step > 1 then
        return ("%d, %d, ..., %d"):format(layers[1], layers[2], layers[#layers])
    end
    local runs, i = {}, 1
    while i <= #layers do
        local last = i
        while layers[last + 1] == layers[last] + 1 do
            last = last + 1
        end
        runs[#runs + 1] = last > i and ("%d-%d"):format(layers[i], layers[last])
            or ("%d"):format(layers[i])
        i = last + 1
    end
    return table.concat(runs, ", ")
end

-- ---- the reader ----

local Reader = {}
Reader.__index = Reader

function facts.reader(file, values)
    return setmetatable({ file = file, values = values, path = "" }, Reader)
end

--- The value of a key: nil if absent, facts.null for null.
function Reader:value(name)
    return self.values[name]
end

local function is_array(value)
    return type(value) == "table" and (getmetatable(value) or {}).__name == "array"
end

--- Whether a value of the config is an object.
function facts.is_object(value)
    return type(value) == "table" and value ~= facts.null and not is_array(value)
end

-- A value as JSON on one line.
local function json(value)
    if value == facts.null or type(value) ~= "table" then
        return value == facts.null and "null" or spec.literal(value)
    end
    local items = {}
    if is_array(value) then
        for i, item in ipairs(value) do
            items[i] = json(item)
        end
        return "[" .. table.concat(items, ", ") .. "]"
    end
    for key, item in pairs(value) do
        items[#items + 1] = spec.literal(key) .. ": " .. json(item)
    end
    table.sort(items)
    return "{" .. table.concat(items, ", ") .. "}"
end

local function shown(value)
    local text = json(value)
    return #text > 60 and text:sub(1, 57) .. "..." or text
end

function Reader:refuse(name, value, wrong)
    error({ refusal = ("%s: key '%s%s' = %s: %s"):format(self.file, self.path,
        name:gsub("%c", "?"), shown(value), wrong) }, 0)
end

function Reader:missing(name, what)
    local other -- the same in other case, the first by the alphabet
    for key in pairs(self.values) do
        if key:lower() == name and (not other or key < other) then
            other = key
        end
    end
    error({ refusal = ("%s: key '%s%s' is missing%s: %s"):format(self.file, self.path, name,
        other and (", but there is '%s'"):format(other) or "", what) }, 0)
end

local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" or a == facts.null or b == facts.null then
        return a == b
    end
    for key, value in pairs(a) do
        if not same(value, b[key]) then return false end
    end
    for key in pairs(b) do
        if a[key] == nil then return false end
    end
    return true
end

--- The first given spelling of a key, its value, or nil if none is; all must say the same.
function Reader:spelled(names)
    local first, found
    for name in names:gmatch("%S+") do
        local value = self.values[name]
        if value ~= nil and first == nil then
            first, found = name, value
        elseif value ~= nil and value ~= facts.null and found == facts.null then
            first, found = name, value
        elseif value ~= nil and value ~= facts.null and not same(value, found) then
            self:refuse(name, value, ("contradicts '%s%s' = %s, which means the same; give one of "
                .. "them"):format(self.path, first, shown(found)))
        end
    end
    return first, found
end

--- The reader of a nested object, whose `parent` is this one; `instead` names a key that stands in
-- for it where it is given.
function Reader:part(name, instead)
    if instead and self.values[instead] ~= nil and self.values[instead] ~= facts.null then
        name = instead
    end
    local value = self.values[name]
    if value == nil then
        self:missing(name, "this model has a part of that name; it takes an object")
    elseif not facts.is_object(value) then
        self:refuse(name, value, "it takes an object")
    end
    return setmetatable({ file = self.file, values = value, path = self.path .. name .. ".",
        nested = true, parent = self }, Reader)
end

-- ---- kinds ----

local activations = {
    gelu = "gelu", gelu_new = "gelu_tanh", gelu_pytorch_tanh = "gelu_tanh",
    gelu_fast = "gelu_tanh", gelu_python = "gelu", gelu_accurate = "gelu_tanh",
    quick_gelu = "quick_gelu", relu = "relu", relu2 = "relu2", silu = "silu", swish = "silu",
}

local function finite(value)
    return type(value) == "number" and value == value and math.abs(value) < math.huge
end

-- Each kind: what it takes in words; (value) -> the value as a fact, or nil.
local kinds = {
    -- products of three of them fit an integer
    size = { "a whole number from 1 to 1048576", function(value)
        return math.type(value) == "integer" and value >= 1 and value <= 1 << 20 and value or nil
    end },
    count = { "a whole number from 0 to 1048576", function(value)
        return math.type(value) == "integer" and value >= 0 and value <= 1 << 20 and value or nil
    end },
    number = { "a number above 0, up to 1e+30", function(value)
        return finite(value) and value > 0 and value <= 1e30 and value or nil
    end },
    flag = { "true or false", function(value)
        if type(value) == "boolean" then return value end
    end },
    word = { "a text", function(value)
        return type(value) == "string" and value or nil
    end },
    list = { "an array", function(value)
        return is_array(value) and value or nil
    end },
    activation = { "one of gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, "
        .. "relu2, silu, swish", function(value)
        return type(value) == "string" and activations[value] or nil
    end },
}

-- A field of a spec takes what the key gives, so the kind is that field's, by its path.
setmetatable(kinds, { __index = function(_, path)
    local row, takes = spec.row(path)
    local whole = row.kind == "integer"
    kinds[path] = { takes, function(value)
        return (whole and math.type(value) == "integer" or not whole and type(value) == "number")
            and value >= row.min and value <= row.max and value or nil
    end }
    return kinds[path]
end })

--- Whether a spec's field at `path` takes the value; if not, what it takes in words.
function facts.fits(path, value)
    return kinds[path][2](value) ~= nil, kinds[path][1]
end

local function constructor(kind, required)
    return function(names, default, null)
        return { kind = kind, names = names, default = default, null = null, required = required,
            is_key = true }
    end
end

facts.size, facts.must = constructor("size"), constructor("size", true)
facts.count, facts.length = constructor("count"), constructor("max_seq")
facts.heads, facts.kv_heads = constructor("heads", true), constructor("kv_heads")
facts.head_dim = constructor("head_dim")
facts.eps, facts.base = constructor("block.eps"), constructor("rope.theta")
facts.number = constructor("number")
facts.flag, facts.word = constructor("flag"), constructor("word")
facts.list, facts.activation = constructor("list"), constructor("activation")

--- The constructor of keys whose values the spec's field at `path` takes.
facts.of = constructor

local function first_name(key)
    return key.names:match("%S+")
end

-- ---- facts ----

local Facts, BUSY, NOTHING = {}, {}, {}

local methods = {}

function Facts.__index(self, name)
    if methods[name] then
        return methods[name]
    end
    local memo = rawget(self, "_memo")
    local value = memo[name]
    if value == nil then
        memo[name] = BUSY
        for _, rules in ipairs(rawget(self, "_layers")) do
            local rule = rules[name]
            if rule ~= nil then
                value = methods.compute(self, rule, name)
                break
            end
        end
        memo[name] = value == nil and NOTHING or value
    elseif value == BUSY then
        error("fact '" .. name .. "' needs itself")
    end
    if value ~= NOTHING then
        return value
    end
end

function facts.new(reader, layers)
    return setmetatable({ _memo = {}, _layers = layers, _reader = reader }, Facts)
end

--- Facts of which some follow other rules; those that depend on them are computed anew.
function methods:with(rules)
    return facts.new(self._reader, { rules, table.unpack(self._layers) })
end

function methods:compute(rule, name)
    if type(rule) == "function" then
        return rule(self)
    elseif type(rule) == "table" and rule.is_key then
        return (self:read(rule, name))
    end
    return rule
end

-- The default of a key: `defaults` of the first layer that has one for the fact, else the key's.
local function default_of(self, key, name)
    for _, rules in ipairs(self._layers) do
        local value = rules.defaults and rules.defaults[name]
        if value ~= nil then
            return value
        end
    end
    return key.default
end

--- The value of a key, and the spelling that gave it, nil if it is the default.
function methods:read(key, name)
    local reader = self._reader
    local spelling, value = reader:spelled(key.names)
    local takes = kinds[key.kind][1]
    if value == nil then
        value = default_of(self, key, name)
        if value == nil or key.required and not reader.nested then
            reader:missing(first_name(key), "it takes " .. takes)
        elseif value ~= facts.null then
            return type(value) == "function" and value(self) or value
        end
    end
    if value == facts.null then
        if key.null == nil then
            reader:refuse(spelling, value, "not possible here; it takes " .. takes)
        elseif type(key.null) == "function" then
            return key.null(self)
        elseif key.null == facts.null then
            return nil
        end
        return key.null
    end
    local good = kinds[key.kind][2](value)
    if good == nil then
        reader:refuse(spelling, value, "it takes " .. takes)
    end
    return good, spelling
end

function methods:reader()
    return self._reader
end

--- Refuses the config for the value of the first given spelling in `names`.
function methods:refuse(names, wrong)
    local spelling, value = self._reader:spelled(names)
    if not spelling then
        self._reader:missing(names:match("%S+"), wrong)
    end
    self._reader:refuse(spelling, value, wrong)
end

--- The spellings of the key that the fact `name` is read from; a type whose rule is a function says
-- them in key_names.
function methods:key_of(name)
    for _, rules in ipairs(self._layers) do
        if rules.key_names and rules.key_names[name] then
            return rules.key_names[name]
        elseif type(rules[name]) == "table" and rules[name].is_key then
            return rules[name].names
        end
    end
    return name
end

--- d_model / heads, for a model that has no head_dim of its own.
function facts.share(f)
    if f.d_model % f.heads ~= 0 then
        f:refuse(f:key_of("d_model"), ("not a multiple of %s = %d, and there is no head_dim")
            :format(f:key_of("heads"):match("%S+"), f.heads))
    end
    local dim = f.d_model // f.heads
    local good, takes = facts.fits("head_dim", dim)
    if not good then
        f:refuse(f:key_of("d_model"), ("heads of %d channels, with %s = %d; a head takes %s")
            :format(dim, f:key_of("heads"):match("%S+"), f.heads, takes))
    end
    return dim
end

--- A rule: refuses what no kernel can be told; key: of the schema above, good: the value that asks
-- for nothing.
function facts.only(key, good, why)
    return function(f)
        local value = f:read(key)
        if value ~= good then
            f:refuse(key.names, why)
        end
        return good
    end
end

-- ---- rotary positions ----

local scaling_kinds = {}

-- A key of the scaling, which the spec calls the same.
local function scale_key(r, name, default)
    local value = r:read(facts.of("rope.scaling." .. name)(name, default, default))
    return value ~= facts.null and value or nil
end

local NONE = facts.null

function scaling_kinds.linear(r)
    local factor = scale_key(r, "factor")
    return { type = "linear", factor = factor }, "linear x" .. facts.plain(factor)
end

function scaling_kinds.dynamic(r, f)
    local factor = scale_key(r, "factor")
    return { type = "dynamic", factor = factor,
        original_max_position_embeddings = scale_key(r, "original_max_position_embeddings", NONE)
            or f.longest },
        "dynamic x" .. facts.plain(factor)
end

function scaling_kinds.llama3(r, f)
    local s = { type = "llama3" }
    s.factor = scale_key(r, "factor")
    s.low_freq_factor = scale_key(r, "low_freq_factor")
    s.high_freq_factor = scale_key(r, "high_freq_factor")
    s.original_max_position_embeddings = scale_key(r, "original_max_position_embeddings")
    if s.high_freq_factor <= s.low_freq_factor then
        r:refuse("high_freq_factor", ("not above low_freq_factor = %s"):format(
            facts.plain(s.low_freq_factor)))
    end
    local _ = f
    return s, ("llama3 x%s (%s,%s,%d)"):format(facts.plain(s.factor),
        facts.plain(s.low_freq_factor), facts.plain(s.high_freq_factor),
        s.original_max_position_embeddings)
end

--- The factor that yarn puts on cosine and sine, or on the scores.
function facts.yarn_magnitude(factor, weight)
    return factor <= 1 and 1.0 or 0.1 * weight * math.log(factor) + 1.0
end

function scaling_kinds.yarn(r, f)
    local s = { type = "yarn" }
    s.factor = scale_key(r, "factor")
    s.beta_fast = scale_key(r, "beta_fast", 32)
    s.beta_slow = scale_key(r, "beta_slow", 1)
    s.original_max_position_embeddings = scale_key(r, "original_max_position_embeddings", NONE)
        or f.longest
    if not r:read(facts.flag("truncate", true)) then
        s.truncate = false
    end
    local magnitude = scale_key(r, "attention_factor", NONE)
    local over, under = scale_key(r, "mscale", NONE), scale_key(r, "mscale_all_dim", NONE)
    if not magnitude and over and under then
        magnitude = facts.yarn_magnitude(s.factor, over) / facts.yarn_magnitude(s.factor, under)
    end
    s.attention_factor = magnitude or facts.yarn_magnitude(s.factor, 1)
    local parts = {}
    if s.truncate == false then
        parts[1] = "no truncate"
    end
    if s.attention_factor ~= 1 then
        parts[#parts + 1] = ("cos/sin times %.7g"):format(s.attention_factor)
    end
    return s, ("yarn x%s%s"):format(facts.plain(s.factor),
        #parts > 0 and " (" .. table.concat(parts, "; ") .. ")" or ""), under
end

function scaling_kinds.longrope(r, f)
    local s = { type = "longrope" }
    for _, name in ipairs { "short_factor", "long_factor" } do
        local list = r:read(facts.list(name))
        for i, value in ipairs(list) do
            local good, takes = facts.fits("rope.scaling." .. name, value)
            if not good then
                r:refuse(name, ("number %d of it is %s; it takes %s"):format(i, shown(value),
                    takes))
            end
        end
        if #list ~= f.rotary_dim // 2 then
            r:refuse(name, ("%d numbers; it takes one for each of the %d channel pairs that turn")
                :format(#list, f.rotary_dim // 2))
        end
        s[name] = list
    end
    local original = f:read(facts.length("original_max_position_embeddings", NONE, NONE),
        "original")
        or scale_key(r, "original_max_position_embeddings", NONE)
    local factor = original and f.longest / original or scale_key(r, "factor")
    s.original_max_position_embeddings = original or f.longest
    local magnitude = scale_key(r, "attention_factor", NONE)
    local text
    if magnitude then
        text = ("%.6g"):format(magnitude)
    elseif factor <= 1 then
        magnitude, text = 1.0, "1"
    else
        magnitude = math.sqrt(1 + math.log(factor) / math.log(s.original_max_position_embeddings))
        text = ("sqrt(1+ln(%s)/ln(%d))=%.6g"):format(facts.plain(factor),
            s.original_max_position_embeddings, magnitude)
    end
    s.attention_factor = magnitude
    return s, ("longrope (short/long %d factors, switch at %d; cos/sin times %s)"):format(
        #s.short_factor, s.original_max_position_embeddings, text)
end

scaling_kinds.su = scaling_kinds.longrope -- its name in the first such models

-- The object that says how positions turn (in today's spelling with theta inside, in the older one
-- without), as facts to read from; for layers of f.layer_type where it has one for each.
local function rope_object(f)
    local reader = f:reader()
    local spelling, value
    for _, name in ipairs { "rope_parameters", "rope_scaling" } do
        local given = reader:value(name)
        if given ~= nil and given ~= facts.null then
            if not facts.is_object(given) then
                reader:refuse(name, given, "it takes an object or null")
            elseif next(given) == nil then
                given = nil -- as good as null
            elseif value and not same(value, given) then
                reader:refuse(name, given, "contradicts 'rope_parameters'; give one of them")
            end
            if given then
                spelling, value = spelling or name, value or given
            end
        end
    end
    if not value then
        return nil
    end
    local inner = reader:part(spelling)
    for _, kind in ipairs { "full_attention", "sliding_attention" } do
        if inner:value(kind) ~= nil then
            local wanted = inner:value(f.layer_type or "full_attention")
            if wanted == nil or wanted == facts.null then
                return nil
            end
            inner = inner:part(f.layer_type or "full_attention")
            return facts.new(inner, {}), true
        end
    end
    return facts.new(inner, {}), false
end

--- The rule of the fact rope: f.theta (a key), f.rotary_part (the share of head_dim that turns),
-- f.rope_layout, f.scaled (false: a scaling in the config is for other layers).
function facts.rope(f)
    local object, by_layer = rope_object(f)
    local key = f.theta_key
    local theta, given
    if object then
        theta = object:read(facts.base("rope_theta", NONE, NONE))
        given = theta and "rope_theta"
    end
    if theta and not by_layer and f:reader():spelled(key.names) and f:read(key, "theta") ~= theta
    then
        object:refuse("rope_theta", ("contradicts '%s' = %s outside of it"):format(
            f:reader():spelled(key.names), facts.plain(f:read(key, "theta"))))
    elseif not theta then
        theta, given = f:read(key, "theta")
    end
    local rope = {
        theta = theta,
        theta_default = not given and f.theta_marked ~= false,
        rotary_dim = f.rotary_dim,
        layout = f.rope_layout,
    }
    local standard = f.rope_standard
    if object and (f.scaled ~= false or by_layer) then
        local kind = object:read(facts.word("rope_type type", by_layer and "default"
            or object:reader():value("rope_theta") and "default" or nil))
        local read = scaling_kinds[kind]
        if kind ~= "default" and not read then
            object:refuse("rope_type type", "unknown; it takes default, linear, dynamic, llama3, "
                .. "yarn, longrope or su")
        elseif read then
            rope.scaling, rope.scaling_text, rope.all_dims = read(object, f)
        end
    elseif standard and f.scaled ~= false then
        rope.scaling, rope.scaling_text = standard.scaling, standard.text
    end
    return rope
end

--- The rule of the fact rotary_dim: a share of head_dim, cut off; the key in the config itself or
-- in its object of rotary positions.
function facts.rotary_share(key)
    return function(f)
        local share, given = f:read(key, "rotary_part")
        local object = rope_object(f)
        if object and not given then
            share = object:read(facts.number("partial_rotary_factor", share, share))
        end
        if share > 1 then
            f:refuse(key.names, "more than the whole of a head; it takes a share of up to 1")
        end
        local dim = math.floor(f.head_dim * share)
        if dim < 2 or dim % 2 == 1 then
            f:refuse(key.names, ("%d channels of head_dim = %d would turn; it takes a share that "
                .. "gives an even number, at least 2"):format(dim, f.head_dim))
        end
        return dim
    end
end

-- ---- what holds for every attention ----

--- Reads all facts and checks them against each other.
function facts.complete(f)
    local names = {}
    for _, rules in ipairs(f._layers) do
        for name in pairs(rules) do
            names[#names + 1] = name
        end
    end
    table.sort(names)
    for _, name in ipairs { "d_model", "heads", "layers", "kv_heads", "head_dim" } do
        assert(f[name], name)
    end
    if f.heads % f.kv_heads ~= 0 then
        f:refuse(f:key_of("kv_heads"), ("%s = %d is not a multiple of it; it takes a divisor")
            :format(f:key_of("heads"):match("%S+"), f.heads))
    end
    for _, name in ipairs(names) do
        local _ = f[name]
    end
    local good, takes = facts.fits("block.ffn", f.ffn_width)
    if not good then
        f:refuse(f:key_of("ffn_width"), ("a feed-forward %s wide; its width takes %s"):format(
            facts.plain(f.ffn_width), takes))
    end
    if f.tokens then
        good, takes = facts.fits("seq", f.tokens)
        if not good then
            f:refuse(f:key_of("tokens"), ("%d positions; their number takes %s"):format(f.tokens,
                takes))
        end
    end
    if f.rope and f.rope.rotary_dim % 2 == 1 then
        f:refuse(f:key_of("head_dim"), ("rotary positions turn pairs, and %d channels of a head "
            .. "would turn; it takes an even number"):format(f.rope.rotary_dim))
    end
end

return facts
