--- The spec: from a user's Lua file to a canonical shape.
--
-- spec.fields              the schema table; checks, messages and `attnc help spec` come from it
-- spec.load(options)       -> shape | nil, message: runs the spec in the sandbox and checks it
-- spec.check(raw, source)  -> shape | nil, message
-- spec.canonical(shape)    -> Lua text of a spec that gives the same shape
-- spec.help()              -> the schema as text
-- spec.text(fields)        -> Lua text of a spec with these fields, in the schema's order
-- spec.isa_list(text)      -> the instruction sets of "a,b" or "native" | nil, message
-- spec.row(path)           -> the schema's row of a field, what it takes in words
-- spec.literal(value), spec.nearest(word, rows), spec.good_name(text)  for others' texts
-- spec.runs(id), spec.native()  what this machine runs
-- Messages read "file:line: field 'x' = value: what is wrong; what would be right".
local block_rules = require "block"
local cpu = require "cpu"
local isa = require "isa"
local mla = require "mla"
local plan = require "plan"
local relative_rules = require "relative"
local rope_rules = require "rope"

local spec = {}

local POSITIONS, ROPE_POSITIONS = plan.POSITIONS, 1 << 22

-- Rows of the schema. kind: name, integer, number or numbers (from min to max), boolean, choice
-- (of), isa, unroll, table (with fields of its own), optional (such a table, true or false),
-- shorthand (such a table, or what its first field takes).
-- `default` is for the reader. `also` lists what others call the field: a spec that uses such a
-- name is told ours.
local function field(kind, name, default, meaning, also)
    return { kind = kind, name = name, default = default, meaning = meaning, also = also or "" }
end

local function ranged(kind, name, min, max, default, meaning, also)
    local it = field(kind, name, default, meaning, also)
    it.min, it.max = min, max
    return it
end

local function one_of(name, of, default, meaning, also)
    local it = field("choice", name, default, meaning, also)
    it.of = of
    return it
end

local function group(name, default, meaning, also, fields)
    local it = field("table", name, default, meaning, also)
    it.fields = fields
    return it
end

-- A table that true stands for with all its defaults, and false for none.
local function optional(...)
    local it = group(...)
    it.kind = "optional"
    return it
end

-- A table that the value of its first field, a choice, stands for too.
local function shorthand(...)
    local it = group(...)
    it.kind = "shorthand"
    return it
end

-- A field that is not built yet: refused, unless its value is the neutral one, which asks for
-- nothing.
local function unbuilt(name, neutral, meaning, also)
    local it = field("unbuilt", name, nil, meaning, also)
    it.neutral = neutral
    return it
end

local LENGTH = "seq or max_seq is required"
local BY_FIELDS = '"block" if block is given, "layer" if d_model, rope, qk_norm, mla, clip_qkv, '
    .. 'a bias or weights_layout is'

spec.fields = {
    field("name", "name", "required", "prefix of every symbol, macro and file",
        "model model_type id"),
    ranged("integer", "d_model", 1, 1 << 20, "heads * head_dim", "channels of x and y",
        "hidden_size hidden n_embd dim width embed_dim"),
    ranged("integer", "heads", 1, 1024, "required", "query heads",
        "num_heads n_heads n_head num_attention_heads"),
    ranged("integer", "kv_heads", 1, 1024, "heads", "key and value heads; 1: MQA",
        "num_kv_heads n_kv_heads num_key_value_heads groups"),
    ranged("integer", "head_dim", 1, 1024, "d_model / heads", "channels of a head of q and k",
        "d_head dim_head head_size d_k"),
    ranged("integer", "v_head_dim", 1, 1024, "head_dim", "channels of a head of v",
        "d_v value_dim"),
    ranged("integer", "seq", 1, POSITIONS, LENGTH, "exactly this many positions",
        "seq_len n sequence_length"),
    ranged("integer", "max_seq", 1, POSITIONS, LENGTH, "up to this many positions",
        "n_ctx context block_size max_seq_len max_position_embeddings n_positions"),
    field("isa", "isa", "required", "instruction sets, one file each", "target targets arch simd"),
    field("boolean", "causal", "false", "a query sees its own position and earlier ones only",
        "is_causal autoregressive"),
    ranged("integer", "window", 0, POSITIONS, "0",
        "a query at position i sees key j only if i - j < window; 0: no such limit",
        "sliding_window window_size window_left"),
    ranged("integer", "window_right", 0, POSITIONS, "0",
        "and only if j - i < window_right, where attention is not causal; 0: no such limit", ""),
    field("boolean", "key_range", "false", "calls take the range of keys that are visible at all",
        "key_lengths seqused lengths padding"),
    ranged("number", "scale", 1e-30, 1e30, "1 / sqrt(head_dim)", "factor of the scores",
        "softmax_scale sm_scale"),
    ranged("number", "softcap", 0, 1e30, "0", "scores s become c * tanh(s / c); 0: none",
        "attn_logit_softcapping logit_cap soft_cap"),
    one_of("cache", { "linear", "ring" }, '"linear"',
        "all positions, or a ring of the latest ones, as many as the window needs", "kv_cache"),
    field("boolean", "sinks", "false", "a logit for each head in the denominator of the softmax",
        "sink attention_sinks"),
    field("boolean", "lse", "false",
        "attention gives each row's log-sum-exp too, and partial results can be merged",
        "logsumexp return_lse softmax_lse"),
    group("relative_bias", "none", "learned biases, one for each bucket of distances and head (T5)",
        "relative_attention_bias", {
        ranged("integer", "buckets", 2, 4096, "32", "how many",
            "relative_attention_num_buckets num_buckets"),
        ranged("integer", "max_distance", 2, 65536, "128",
            "from it on all distances are one bucket", "relative_attention_max_distance"),
        field("boolean", "bidirectional", "not causal",
            "half of the buckets are for keys to the right, which else have that of distance 0"),
    }),
    ranged("number", "clip_qkv", 1e-30, 1e30, "none",
        "projected q, k and v are clamped to -c .. c, before rope", "clip"),
    optional("alibi", "false", "biases slope * (j - i) by the paper's slopes", "", {
        ranged("number", "bias_max", 1e-3, 1e3, "8",
            "n heads have slopes 2^(-bias_max / n) and on"),
        ranged("number", "scale", 1e-30, 1e30, "1", "factor of the slopes"),
    }),
    shorthand("mask", '"none"', "calls take a byte for each query and key, 0 to hide it, or a bias",
        "attn_mask attention_mask attn_bias", {
        one_of("type", { "none", "bool", "bias" }, "required",
            "bytes, or floats that are added to the scores; -infinity hides"),
        one_of("heads", { "shared", "each" }, '"shared"',
            "all heads have the same biases, or each its own"),
    }),
    group("rope", "none", "rotary positions on q and k", "rotary rope_theta rope_parameters", {
        ranged("number", "theta", 1, 1e12, "10000", "base of the angles", "base rope_theta"),
        ranged("integer", "rotary_dim", 2, 1024, "head_dim", "leading channels that turn; even",
            "dim rot_dim"),
        one_of("layout", { "half", "interleaved" }, '"half"',
            "channel pairs (i, i + rotary_dim/2), or (2i, 2i + 1)", "style type"),
        ranged("integer", "offset", 0, ROPE_POSITIONS, "0", "position of the first row",
            "position_offset start"),
        group("scaling", "none", "longer contexts, in transformers' terms", "rope_scaling factor", {
            one_of("type", rope_rules.types, "required", "how the angles are scaled",
                "rope_type"),
            ranged("number", "factor", 1, 1e6, "required but by longrope, proportional: 1",
                "how much longer the contexts are", "scale"),
            ranged("integer", "original_max_position_embeddings", 1, 1 << 30,
                "required by dynamic, llama3, yarn, longrope", "positions before scaling",
                "original_max_position original_max_seq_len original_context_length"),
            ranged("number", "low_freq_factor", 1e-6, 1e6, "required by llama3",
                "pairs that turn less often than this in the original positions are scaled"),
            ranged("number", "high_freq_factor", 1e-6, 1e6, "required by llama3",
                "pairs that turn more often are not"),
            ranged("number", "beta_fast", 1e-6, 1e6, "yarn: 32",
                "pairs that turn more often than this in the original positions stay as they are"),
            ranged("number", "beta_slow", 1e-6, 1e6, "yarn: 1",
                "pairs that turn less often are scaled in full"),
            field("boolean", "truncate", "yarn: true", "the limits of beta_... are whole pairs"),
            ranged("number", "attention_factor", 1 / 1024, 1024, "yarn, longrope: by the paper",
                "cosine and sine are multiplied with it", "attn_factor"),
            ranged("number", "mscale", 1e-6, 1e6, "none",
                "yarn: with mscale_all_dim, another attention_factor"),
            ranged("number", "mscale_all_dim", 1e-6, 1e6, "none", "see mscale"),
            ranged("numbers", "short_factor", 1e-3, 1e6, "required by longrope",
                "each pair's divisor in sequences of up to the original positions"),
            ranged("numbers", "long_factor", 1e-3, 1e6, "required by longrope",
                "each pair's divisor in longer sequences"),
        }),
    }),
    group("cross", "none", "keys and values of another sequence, its source", "cross_attention", {
        ranged("integer", "max_seq", 1, POSITIONS, "required", "up to this many positions of it",
            "seq n_ctx max_position_embeddings"),
        ranged("integer", "d_model", 1, 1 << 20, "d_model", "its channels", "hidden_size width"),
    }),
    group("qk_norm", "none", "norm of q and k after their projections", "q_norm k_norm", {
        one_of("type", { "rmsnorm", "layernorm" }, "required",
            "by the mean square, or by mean and variance"),
        one_of("width", { "head", "full" }, '"head"', "over each head, or all heads together"),
        one_of("order", { "before_rope", "after_rope", "no_rope" }, '"before_rope"',
            "before or after the rotary positions, or there are none"),
        ranged("number", "eps", 1e-12, 1, "rmsnorm: 1e-6, layernorm: 1e-5",
            "added to the mean square or variance", "epsilon variance_epsilon rms_norm_eps"),
        field("boolean", "unit_offset", "false", "the weights lack 1: times 1 + w"),
        field("boolean", "bias", "false", "the norms add a bias"),
        one_of("weights", { "shared", "per_head" }, '"shared"',
            "of width \"head\": the same for all heads, or each head's own"),
    }),
    group("mla", "none", "keys and values from a latent of low rank (DeepSeek)", "latent", {
        ranged("integer", "kv_rank", 1, 1023, "required", "channels of the latent",
            "kv_lora_rank"),
        ranged("integer", "q_rank", 1, 1 << 16, "none",
            "channels that q is projected from; none: from x at once", "q_lora_rank"),
        ranged("integer", "nope_dim", 1, 1023, "required",
            "channels of a head of q and k that do not turn, the leading ones",
            "qk_nope_head_dim"),
        ranged("integer", "rope_dim", 2, 1022, "required",
            "channels that turn, the last ones; all heads share those of k", "qk_rope_head_dim"),
        ranged("number", "eps", 1e-12, 1, "1e-6", "of the latents' RMSNorms",
            "epsilon rms_norm_eps"),
        ranged("integer", "expand", 1, POSITIONS, "2048",
            "positions of a prompt that have keys and values of their heads, in scratch"),
    }),
    field("boolean", "qkv_bias", "false", "q, k and v projections add a bias",
        "bias attention_bias"),
    field("boolean", "o_bias", "false", "the output projection adds a bias", "out_bias"),
    one_of("weights_layout", { "out_in", "in_out" }, '"out_in"',
        "y = W x as PyTorch's Linear, or X W as the paper", "layout"),
    group("block", "none", "the whole transformer block: norms, residuals, feed-forward",
        "mlp feed_forward", {
            one_of("norm", { "layernorm", "rmsnorm" }, "required",
                "by mean and variance, or by the mean square", "norm_type normalization"),
            one_of("place", block_rules.places, '"pre"',
                "where the norms stand: docs/conventions.md has the formulas", "norm_place"),
            ranged("integer", "parallel_norms", 1, 2, "parallel: 1",
                "of \"parallel\": the feed-forward's input has attention's norm, or its own"),
            field("boolean", "attention_norm", "true",
                "of \"pre\": false leaves out the norm of attention's input"),
            ranged("number", "eps", 1e-12, 1, "rmsnorm: 1e-6, layernorm: 1e-5",
                "added to the mean square or variance",
                "epsilon layer_norm_eps layer_norm_epsilon rms_norm_eps norm_eps"),
            field("boolean", "unit_offset", "false", "the norms' weights lack 1: times 1 + w"),
            field("boolean", "norm_bias", "layernorm: true, rmsnorm: false",
                "the norms add a bias"),
            ranged("integer", "ffn", 0, 1 << 20, "required",
                "width of the feed-forward; 0: none, attention's part alone",
                "ffn_width intermediate_size ffn_dim d_ff n_inner hidden_dim"),
            one_of("act", block_rules.acts, "required with ffn", "activation of the feed-forward",
                "activation hidden_act activation_function hidden_activation"),
            field("boolean", "gated", "false",
                "act(gate x) * (up x), as SwiGLU and GeGLU, not act(up x)", "glu"),
            field("boolean", "bias", "false", "the feed-forward's projections add a bias",
                "ffn_bias mlp_bias"),
            field("boolean", "layer_scale", "false",
                "learned factors of each channel that attention and feed-forward add to x",
                "layerscale layer_scale_init_value"),
            ranged("number", "residual_multiplier", 1e-6, 1e6, "1",
                "factor of what attention and feed-forward add to x", "residual_scale"),
        }),
    one_of("emit", { "attention", "layer", "block" }, BY_FIELDS,
        "attention on given q, k and v, with projections, or the whole block"),
    group("tile", "by plan", "sizes of the register tiles", "tiles", {
        ranged("integer", "query_rows", 1, 256, "by plan", "query rows that share a block of keys"),
        ranged("integer", "score_keys", 32, 512, "by plan", "keys that these rows take together"),
        ranged("integer", "score_rows", 1, 16, "by plan", "rows of a score tile"),
        ranged("integer", "score_vectors", 1, 16, "by plan", "vectors of keys in a score tile"),
        ranged("integer", "value_vectors", 1, 16, "by plan", "vectors of channels in a value tile"),
        ranged("integer", "value_keys", 32, 512, "by plan", "in decode, values taken together"),
        ranged("integer", "project_rows", 1, 16, "by plan", "rows of a projection tile"),
    }),
    field("unroll", "unroll", '"full"', "steps of head_dim in one loop body"),
    unbuilt("types", nil, "storage of cache and weights", "dtype kv_dtype cache_type"),
    unbuilt("numerics", "exact", "narrow dot products"),
}

local function sorted_keys(t)
    local keys = {}
    for key in pairs(t) do
        keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b)
        if type(a) ~= type(b) then
            return type(a) == "number"
        end
        return a < b
    end)
    return keys
end

-- A value as Lua text on one line, in the same order every time.
local function literal(value, depth)
    local kind = math.type(value) or type(value)
    if kind == "string" then
        return '"' .. value:gsub('[%c"\\\127]', function(c)
            return c:find('["\\]') and "\\" .. c or ("\\%03d"):format(c:byte())
        end) .. '"'
    elseif kind == "float" then
        if value == math.floor(value) and math.abs(value) < 1e15 then
            return ("%.1f"):format(value)
        end
        -- the shortest text that reads back as the same number
        for digits = 1, 17 do
            local text = ("%." .. digits .. "g"):format(value)
            if tonumber(text) == value then
                return math.type(tonumber(text)) == "float" and text or text .. ".0"
            end
        end
        return value ~= value and "nan" or value > 0 and "inf" or "-inf"
    elseif kind ~= "table" then
        return tostring(value)
    elseif (depth or 0) > 3 then
        return "{...}"
    end
    local items = {}
    for _, key in ipairs(sorted_keys(value)) do
        local text = literal(value[key], (depth or 0) + 1)
        if math.type(key) ~= "integer" or key > #value or key < 1 then
            local name = type(key) == "string" and key:find("^[%a_][%w_]*$")
            text = (name and key or "[" .. literal(key) .. "]") .. " = " .. text
        end
        items[#items + 1] = text
    end
    return #items == 0 and "{}" or "{ " .. table.concat(items, ", ") .. " }"
end

spec.literal = literal

local function shorten(text)
    return #text > 60 and text:sub(1, 57) .. "..." or text
end

-- How many letters must be added, dropped, changed or swapped with their neighbour.
local function distance(a, b)
    local rows = { [0] = {} }
    for j = 0, #b do
        rows[0][j] = j
    end
    for i = 1, #a do
        rows[i] = { [0] = i }
        for j = 1, #b do
            local change = a:byte(i) == b:byte(j) and 0 or 1
            local best = math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + change)
            if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
                best = math.min(best, rows[i - 2][j - 2] + 1)
            end
            rows[i][j] = best
        end
    end
    return rows[#a][#b]
end

--- The known name that a misspelled or foreign one means, or nil. A row has a name and `also`, what
-- others call it.
function spec.nearest(word, rows)
    local best, best_distance
    word = word:lower():sub(1, 40)
    for _, row in ipairs(rows) do
        local d = distance(word, row.name)
        if (" " .. row.also .. " "):find(" " .. word .. " ", 1, true) then
            d = 0
        end
        if d <= math.max(1, #word // 3) and (not best or d < best_distance) then
            best, best_distance = row.name, d
        end
    end
    return best
end

local function names_of(rows)
    local names = {}
    for i, row in ipairs(rows) do
        names[i] = row.name
    end
    return table.concat(names, ", ")
end

local function isa_names()
    local ids = {}
    for i, set in ipairs(isa.all()) do
        ids[i] = set.id
    end
    return table.concat(ids, ", ")
end

-- A number for a reader: 1 << 24 stays whole.
local function plain(number)
    return math.type(number) == "integer" and tostring(number) or ("%g"):format(number)
end

-- What a field takes, in words.
local function allowed(row)
    local kind = row.kind
    if kind == "name" then
        return "a C identifier in lower case: at most 40 letters, no '__', no '_' at the end, "
            .. "no header of C, no '_cache' or instruction set at the end"
    elseif kind == "integer" then
        return ("a whole number from %s to %s"):format(plain(row.min), plain(row.max))
    elseif kind == "number" then
        return ("a number from %s to %s"):format(plain(row.min), plain(row.max))
    elseif kind == "numbers" then
        return ("a list of numbers from %s to %s"):format(plain(row.min), plain(row.max))
    elseif kind == "boolean" then
        return "true or false"
    elseif kind == "choice" then
        return '"' .. table.concat(row.of, '" or "') .. '"'
    elseif kind == "isa" then
        return "one or a list of " .. isa_names()
    elseif kind == "unroll" then
        return '"full" or a whole number from 1 to 1024'
    end
    local short = kind == "optional" and "true, false, or "
        or kind == "shorthand" and allowed(row.fields[1]) .. ", or " or ""
    return short .. "a table with " .. names_of(row.fields)
end

-- The text without its comments and what strings hold, all lines kept; ["name"] becomes name.
local function code_of(text)
    local parts, at = {}, 1
    local function blank(from, to)
        parts[#parts + 1] = text:sub(at, from - 1)
        parts[#parts + 1] = " " .. text:sub(from, to):gsub("[^\n]", "")
        at = to + 1
    end
    while true do
        local from = text:find("[%-%[\"']", at)
        if not from then
            parts[#parts + 1] = text:sub(at)
            return table.concat(parts)
        end
        local rest = text:find("^%-%-", from) and from + 2 or from -- where a long bracket begins
        local level = text:match("^%[(=*)%[", rest)
        local quote = text:match("^[\"']", from)
        local _, key_end, _, key = text:find("^%[%s*([\"'])([%a_][%w_]*)%1%s*%]", from)
        if level then
            local _, to = text:find("]" .. level .. "]", rest, true)
            blank(from, to or #text)
        elseif rest > from then
            blank(from, (text:find("\n", from, true) or #text + 1) - 1)
        elseif quote then
            local to = from + 1
            while to <= #text and not text:find("^[" .. quote .. "\n]", to) do
                to = to + (text:find("^\\", to) and 2 or 1)
            end
            blank(from, to)
        elseif key then
            parts[#parts + 1] = text:sub(at, from - 1) .. " " .. key .. " "
            at = key_end + 1
        else
            parts[#parts + 1] = text:sub(at, from)
            at = from + 1
        end
    end
end

-- Where plain reading of the code finds values given to names, in their order: {path =, line =,
-- value = the name that is the value, or nil}. The path is that of the variables and tables around
-- it too, each step with a dot before it: ".t.rope.theta" in "local t = { rope = { theta = 1 } }".
-- Also the line of the last "return", or 0.
local function assignments_of(code)
    local found, around, line, returned = {}, {}, 1, 0
    local word, word_line = "", 0 -- the token before
    local given -- what "=" gives a value
    for token in code:gsub("[{}=,;()\n]", " %0 "):gmatch("[^ \t\r]+") do
        local name
        if token == "\n" then
            line = line + 1
        else
            if token == "=" then
                name = not given and word:match("^[%a_][%w_.]*$")
            elseif given then
                given.value = token:match("^[%a_][%w_.]*$")
                found[#found + 1] = given
            end
            if token == "{" then
                around[#around + 1] = given and given.path or ""
            elseif token == "}" then
                around[#around] = nil
            elseif token == "return" then
                returned = line
            end
            given = name and { path = (around[#around] or "") .. "." .. name, line = word_line }
            word, word_line = token, line
        end
    end
    return found, returned
end

-- Names of fields that are tables with fields of their own.
local group_names = {}
local function add_groups(rows)
    for _, row in ipairs(rows) do
        if row.fields then
            group_names[row.name] = true
            add_groups(row.fields)
        end
    end
end
add_groups(spec.fields)

-- The line of the text that gives a field its value, or the table that it stands in, as far as
-- plain reading finds it: the first one from the last "return" on, else the last one before it.
local function line_of(text, path)
    local found, returned = assignments_of(code_of(text))
    local function named(name)
        local best
        for _, each in ipairs(found) do
            local outer = each.path:sub(1, -#name - 2)
            if each.path == outer .. "." .. name and not group_names[outer:match("[^.]*$")] then
                best = each
                if each.line >= returned then
                    break
                end
            end
        end
        return best
    end
    -- the assignment, and whether it is that of the whole path
    local function look(at)
        local here = named(at)
        local parent, name = at:match("^(.*)%.([^.]*)$")
        if here or not parent then
            return here, here ~= nil
        end
        local owner, whole = look(parent)
        local inner = whole and named((owner.value or owner.path:sub(2)) .. "." .. name)
        return inner or owner, inner ~= nil and inner ~= false
    end
    local place = look(path)
    return place and place.line
end

--- The schema's row of the field at `path` ("heads", "rope.theta"), and what it takes in words.
function spec.row(path)
    local rows, found = spec.fields, nil
    for name in path:gmatch("[^.]+") do
        found = nil
        for _, row in ipairs(rows) do
            found = row.name == name and row or found
        end
        rows = assert(found, path).fields
    end
    return found, allowed(found)
end

-- Where the field at `path` ("heads", "rope.theta") got its value, for messages.
local function place_of(source, path)
    local set = path
    while set do
        if source.set and source.set[set] then
            return source.set[set]
        end
        set = set:match("^(.*)%.")
    end
    local line = source.text and line_of(source.text, path)
    return line and ("%s:%d"):format(source.file, line) or source.file
end

-- Raises a message about the field at `path`; spec.check catches it.
local function refuse(source, path, value, wrong)
    local shown = value == nil and "" or " = " .. shorten(literal(value))
    error({ refusal = ("%s: field '%s'%s: %s"):format(place_of(source, path),
        path:gsub("%c", "?"), shown, wrong) }, 0)
end

-- Headers of C, POSIX and compilers that a written <name>.h would stand in for, and targets that
-- CMake keeps for itself.
local taken = {}
for word in ([[
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype
    aio alloca byteswap cpio dirent dlfcn endian fcntl features fmtmsg fnmatch ftw glob grp iconv
    langinfo libgen libintl malloc memory mm_malloc monetary mqueue ndbm netdb nl_types poll
    pthread pwd regex sched search semaphore spawn strings syslog tar termios trace ulimit unistd
    unwind utime utmpx wordexp
    arm_acle arm_bf16 arm_fp16 arm_mve arm_neon arm_sme arm_sve cpuid intrin riscv_bitmanip
    riscv_crypto riscv_vector vecintrin wasm_simd128 windows]]):gmatch("%S+") do
    taken[word] = "is the name of a header, <" .. word .. ".h>"
end
for word in ("all clean help install package package_source rebuild_cache test"):gmatch("%S+") do
    taken[word] = "is a target that CMake keeps for itself"
end

-- Each takes (value, row) and returns the canonical value, or nil and what is wrong.
local kinds = {}

function kinds.name(value)
    if type(value) == "string" and #value <= 40 and value:find("^[a-z][a-z0-9_]*$")
        and not value:find("__") and not value:find("_$") then
        if taken[value] then
            return nil, taken[value]
        elseif value:find("intrin$") then
            return nil, "may be the name of a compiler's header"
        elseif value:find("_cache$") then
            return nil, "ends in '_cache', as the cache's type of another kernel does"
        end
        for _, set in ipairs(isa.all()) do
            if value:sub(-#set.symbol - 1) == "_" .. set.symbol then
                return nil, ("ends in '_%s', as the files of another kernel do"):format(set.symbol)
            end
        end
        return value
    end
end

function kinds.integer(value, row)
    local whole = type(value) == "number" and math.tointeger(value)
    if whole and whole >= row.min and whole <= row.max then
        return whole
    end
end

function kinds.number(value, row)
    if type(value) == "number" and value >= row.min and value <= row.max then
        return value + 0.0
    end
end

function kinds.numbers(value, row)
    if type(value) ~= "table" or #value == 0 then
        return nil
    end
    local list, count = {}, 0
    for _ in pairs(value) do
        count = count + 1
    end
    for i, item in ipairs(value) do
        list[i] = kinds.number(item, row)
        if not list[i] then
            return nil, ("number %d of it is %s"):format(i, shorten(literal(item)))
        end
    end
    return count == #list and list or nil
end

function kinds.boolean(value)
    if type(value) == "boolean" then
        return value
    end
end

function kinds.choice(value, row)
    for _, choice in ipairs(row.of) do
        if choice == value then
            return value
        end
    end
end

function kinds.unroll(value)
    if value == "full" then
        return value
    end
    return kinds.integer(value, { min = 1, max = 1024 })
end

function kinds.isa(value)
    local wanted, count, result = {}, 0, {}
    if type(value) == "string" then
        value = { value }
    end
    if type(value) ~= "table" then
        return nil
    end
    for key, id in pairs(value) do
        if math.type(key) ~= "integer" or type(id) ~= "string" then
            return nil
        elseif id == "" then
            return nil, "a name is empty"
        elseif id == "native" then
            return nil, '"native" is for the command line, and alone: --isa native'
        elseif wanted[id] then
            return nil, ("names \"%s\" twice"):format(shorten(id))
        end
        wanted[id], count = true, count + 1
    end
    for _, set in ipairs(isa.all()) do
        if wanted[set.id] then
            wanted[set.id] = nil
            result[#result + 1] = set.id
        end
    end
    local unknown = next(wanted) and sorted_keys(wanted)[1]
    if unknown then
        return nil, ("unknown instruction set %s"):format(shorten(literal(unknown)))
    end
    return count > 0 and result or nil
end

--- Whether a spec can be called so.
function spec.good_name(text)
    return kinds.name(text) ~= nil
end

local function split_isas(text)
    local ids = {}
    for id in (text .. ","):gmatch("%s*([^,]-)%s*,") do
        ids[#ids + 1] = id
    end
    return #ids == 1 and ids[1] == "native" and spec.native() or ids
end

--- The list of --isa, in the registry's order.
function spec.isa_list(text)
    local good, wrong = kinds.isa(split_isas(text))
    if not good then
        return nil, ("--isa %s: %s; it takes %s"):format(shorten(text:gsub("%c", "?")),
            wrong or "not possible", allowed({ kind = "isa" }))
    end
    return good
end

local check_rows

function kinds.table(value, row, source, path)
    if type(value) == "table" then
        return check_rows(value, row.fields, source, path .. ".")
    end
end

function kinds.optional(value, row, source, path)
    if value == false then
        return value
    end
    return kinds.table(value == true and {} or value, row, source, path)
end

function kinds.shorthand(value, row, source, path)
    if type(value) ~= "table" then
        local short = row.fields[1]
        local good = kinds[short.kind](value, short, source, path)
        return good ~= nil and { [short.name] = good } or nil
    end
    return kinds.table(value, row, source, path)
end

-- Checks every key and value of a table against its rows, each on its own.
function check_rows(raw, rows, source, prefix)
    local known, result = {}, {}
    for _, row in ipairs(rows) do
        known[row.name] = row
    end
    for _, key in ipairs(sorted_keys(raw)) do
        if not known[key] then
            local guess = type(key) == "string" and spec.nearest(key, rows)
            refuse(source, prefix .. tostring(key), raw[key], "unknown field; " .. (guess
                and ("did you mean '%s'?"):format(prefix .. guess)
                or "known are " .. names_of(rows)))
        end
    end
    for _, row in ipairs(rows) do
        local value, path = raw[row.name], prefix .. row.name
        if value ~= nil and row.kind == "unbuilt" then
            if value ~= row.neutral then
                refuse(source, path, value, "not supported yet; " .. (row.neutral ~= nil
                    and ("leave it out, or %s"):format(literal(row.neutral)) or "leave it out"))
            end
        elseif value ~= nil then
            local good, wrong = kinds[row.kind](value, row, source, path)
            if good == nil then
                wrong = wrong or "not possible"
                refuse(source, path, value, wrong .. "; it takes " .. allowed(row))
            end
            result[row.name] = good
        end
    end
    return result
end

local function missing(source, name, what)
    error({ refusal = ("%s: field '%s' is missing: %s"):format(source.file, name, what) }, 0)
end

-- Fills in the defaults and checks fields against each other.
local function complete(given, source)
    local shape = {}
    local function wrong(path, text)
        refuse(source, path, given[path], text)
    end
    for key, value in pairs(given) do
        shape[key] = value
    end
    for _, each in ipairs(spec.fields) do
        if each.default == "required" and shape[each.name] == nil then
            missing(source, each.name, ("%s; it takes %s"):format(each.meaning, allowed(each)))
        end
    end
    shape.kv_heads = shape.kv_heads or shape.heads
    if shape.kv_heads > shape.heads then
        wrong("kv_heads", ("more than heads = %d; it takes a divisor of heads"):format(shape.heads))
    elseif shape.heads % shape.kv_heads ~= 0 then
        wrong("kv_heads", ("heads = %d is not a multiple of it; it takes a divisor"):format(
            shape.heads))
    end

    if shape.mla then
        shape.mla = mla.complete(shape, function(path, value, text)
            refuse(source, path, value, text)
        end)
    end
    if not shape.head_dim then
        if not shape.d_model then
            missing(source, "head_dim", "give head_dim, or d_model")
        elseif shape.d_model % shape.heads ~= 0 then
            wrong("d_model", ("not a multiple of heads = %d; if that is meant, give head_dim too")
                :format(shape.heads))
        end
        shape.head_dim = shape.d_model // shape.heads
        if shape.head_dim > 1024 then
            wrong("d_model", ("gives head_dim = %d; it may be at most 1024"):format(shape.head_dim))
        end
    end
    shape.v_head_dim = shape.v_head_dim or shape.head_dim
    local width = shape.heads * shape.head_dim

    if given.seq and given.max_seq then
        wrong("max_seq", ("given together with seq = %d; give one of them"):format(given.seq))
    elseif not (given.seq or given.max_seq) then
        missing(source, "max_seq", "give seq (exactly so many) or max_seq (up to so many)")
    end
    local length = given.seq and "seq" or "max_seq"
    shape.capacity, shape.exact = given[length], given.seq ~= nil
    shape.seq, shape.max_seq = nil, nil

    shape.causal = shape.causal or false
    shape.window = shape.window or 0
    shape.window_right = not shape.causal and shape.window_right or 0 -- causal says more
    shape.cache = shape.cache or "linear"
    if shape.cache == "ring" and (shape.window == 0 or not shape.causal and shape.window_right == 0)
    then
        wrong("cache", ("a ring holds what a window needs; it takes %s, or \"linear\""):format(
            shape.window == 0 and "a window" or "causal = true or a window_right"))
    end
    shape.scale = shape.scale or 1 / math.sqrt(shape.head_dim)
    if shape.softcap == 0 then
        shape.softcap = nil
    elseif shape.softcap and shape.softcap < 1e-30 then
        wrong("softcap", "too small; it takes 0 or a number from 1e-30 to 1e+30")
    end
    shape.key_range = shape.key_range or false
    shape.sinks = shape.sinks or false
    shape.lse = shape.lse or false
    shape.alibi = shape.alibi and {
        bias_max = shape.alibi.bias_max or 8.0,
        scale = shape.alibi.scale or 1.0,
    } or nil
    local relative = shape.relative_bias
    if relative then
        relative.buckets = relative.buckets or 32
        relative.max_distance = relative.max_distance or 128
        if relative.bidirectional == nil then
            relative.bidirectional = not shape.causal
        end
        local side = relative_rules.side(relative)
        if relative.bidirectional and relative.buckets % 2 ~= 0 then
            refuse(source, "relative_bias.buckets", relative.buckets,
                "odd; of both directions' buckets each has half")
        elseif side < 2 then
            refuse(source, "relative_bias.buckets", relative.buckets,
                "too few; a direction needs two at least")
        elseif relative.max_distance <= side // 2 then
            refuse(source, "relative_bias.max_distance", relative.max_distance,
                ("not beyond the first %d distances, which have buckets of their own"):format(
                    side // 2))
        end
    end
    local mask = shape.mask
    if mask and not mask.type then
        refuse(source, "mask.type", nil, 'missing; it takes "none", "bool" or "bias"')
    elseif mask and mask.heads == "each" and mask.type ~= "bias" then
        refuse(source, "mask.heads", mask.heads,
            'only a mask of type "bias" may be each head\'s own; leave it out, or "shared"')
    end
    shape.mask = mask and mask.type ~= "none" and { type = mask.type,
        heads = mask.heads == "each" and mask.heads or nil } or nil
    shape.qkv_bias = shape.qkv_bias or false
    shape.o_bias = shape.o_bias or false
    shape.weights_layout = shape.weights_layout or "out_in"
    shape.unroll = shape.unroll or "full"
    shape.tile = shape.tile and next(shape.tile) and shape.tile
    if not shape.emit then
        local layer = given.d_model or given.rope or given.qk_norm or given.mla
            or given.clip_qkv
            or given.qkv_bias ~= nil or given.o_bias ~= nil or given.weights_layout
            or given.cross and given.cross.d_model
        shape.emit = given.block and "block" or layer and "layer" or "attention"
    end
    if shape.emit == "block" and not given.block then
        missing(source, "block", 'emit = "block" needs its norm, ffn and act')
    elseif given.block and shape.emit ~= "block" then
        wrong("emit", 'there is a block; it takes "block", or leave the field block out')
    end
    shape.d_model = shape.d_model or width
    if shape.emit == "attention" then
        if shape.d_model ~= width then
            wrong("d_model", ('not heads * head_dim = %d, as emit = "attention" needs; '
                .. 'emit = "layer" projects to any width'):format(width))
        elseif given.rope then
            wrong("rope", 'emit = "attention" takes q and k as they are; rope needs emit = "layer"')
        elseif given.qk_norm then
            wrong("qk_norm",
                'emit = "attention" takes q and k as they are; qk_norm needs emit = "layer"')
        end
        for _, name in ipairs { "qkv_bias", "o_bias", "weights_layout" } do
            if shape[name] and shape[name] ~= "out_in" then
                wrong(name, 'emit = "attention" has no projections; it needs emit = "layer"')
            end
        end
    end

    local cross = shape.cross
    if cross then
        if not cross.max_seq then
            refuse(source, "cross.max_seq", nil, "missing; it takes a number of positions")
        elseif cross.d_model and shape.emit == "attention" then
            refuse(source, "cross.d_model", cross.d_model,
                'emit = "attention" has no projections; it needs emit = "layer"')
        elseif given.seq then
            wrong("seq", "queries of cross attention come in any number; give max_seq")
        end
        for _, name in ipairs { "causal", "window", "window_right", "alibi", "relative_bias",
            "rope", "mla" } do
            if shape[name] and shape[name] ~= 0 then
                wrong(name, "cross attention knows no positions of its two sequences to each other")
            end
        end
        shape.cross = { max_seq = cross.max_seq, d_model = cross.d_model or shape.d_model }
    end

    local rope = shape.rope
    if rope then
        local dim = rope.rotary_dim or shape.mla and shape.mla.rope_dim or shape.head_dim
        if dim % 2 ~= 0 then
            refuse(source, rope.rotary_dim and "rope.rotary_dim" or "head_dim", dim,
                "rotary positions turn pairs of channels; rope.rotary_dim must be even")
        elseif dim > shape.head_dim then
            refuse(source, "rope.rotary_dim", dim,
                ("more than head_dim = %d; it takes even numbers up to it"):format(shape.head_dim))
        elseif shape.capacity + (rope.offset or 0) > ROPE_POSITIONS then
            wrong(length, ("too large with rope; at most %d%s"):format(ROPE_POSITIONS,
                (rope.offset or 0) > 0 and " with its offset" or ""))
        end
        shape.rope = {
            theta = rope.theta or 10000.0,
            rotary_dim = dim,
            layout = rope.layout or "half",
            offset = rope.offset ~= 0 and rope.offset or nil,
        }
        if rope.scaling then
            local function wrong_scaling(name, text)
                refuse(source, "rope.scaling." .. name, rope.scaling[name], text)
            end
            shape.rope.scaling = rope_rules.scaling(rope.scaling, wrong_scaling)
            rope_rules.fits(shape, wrong_scaling)
        end
    end

    local norm = shape.qk_norm
    if norm then
        if not norm.type then
            refuse(source, "qk_norm.type", nil, 'missing; it takes "rmsnorm" or "layernorm"')
        elseif norm.width == "full" and norm.weights then
            refuse(source, "qk_norm.weights", norm.weights,
                'a width of "full" has a weight for each channel; leave it out')
        elseif norm.order == "no_rope" and rope then
            refuse(source, "qk_norm.order", norm.order,
                'there is rope; it takes "before_rope" or "after_rope"')
        end
        shape.qk_norm = {
            type = norm.type,
            width = norm.width or "head",
            order = not rope and "no_rope" or norm.order or "before_rope",
            eps = norm.eps or norm.type == "rmsnorm" and 1e-6 or 1e-5,
            unit_offset = norm.unit_offset or nil,
            bias = norm.bias or nil,
            weights = norm.weights == "per_head" and norm.weights or nil,
        }
    end

    if shape.clip_qkv and shape.emit == "attention" then
        wrong("clip_qkv", "clamps what a layer projects; it needs emit = \"layer\" or \"block\"")
    end
    if shape.mla then
        mla.fits(shape, function(path, value, text)
            refuse(source, path, value, text)
        end)
    end
    if shape.block then
        shape.block = block_rules.complete(shape.block, function(name, text)
            refuse(source, "block." .. name, given.block[name], text)
        end)
    end

    -- Sizes, as floats so that they cannot wrap: bytes below 2^47, FLOPs below 2^62.
    local n = math.max(shape.capacity, cross and cross.max_seq or 0) + 0.0
    local cached = mla.on_cache(shape)
    local widths = math.max(shape.head_dim + shape.v_head_dim, cached.head_dim + cached.v_head_dim)
    local bytes = 4 * math.max((n + 512) * (shape.kv_heads * (widths + 32)), n * shape.d_model,
        n * shape.heads * math.max(shape.head_dim, shape.v_head_dim))
    local widest = math.max(shape.d_model, cross and shape.cross.d_model or 0) + 0.0
    local parameters = (shape.heads + shape.kv_heads) * widths * widest
    if shape.block then
        local matrices = shape.block.gated and 3 or 2
        bytes = math.max(bytes, 4 * matrices * shape.block.ffn * (shape.d_model + 0.0))
        parameters = parameters + matrices * shape.block.ffn * (shape.d_model + 0.0)
    end
    local flops = 2 * n * (n * shape.heads * widths + parameters)
    if bytes >= 2 ^ 47 then
        wrong(length, ("too large: one buffer takes %.3g bytes; at most 2^47"):format(bytes))
    elseif flops >= 2 ^ 62 then
        wrong(length, ("too large: %.3g operations for one pass; at most 2^62"):format(flops))
    end

    -- What the plan refuses: a tile that does not fit an instruction set.
    for _, id in ipairs(shape.isa) do
        local good, problem = pcall(function()
            plan.make(shape, isa.get(id))
            plan.make(mla.on_cache(shape), isa.get(id))
        end)
        if not good and type(problem) == "table" and problem.field then
            problem = { refusal = place_of(source, problem.field) .. ": " .. problem.message }
        end
        if not good then
            error(problem, 0)
        end
    end
    return shape
end

--- raw: the value that the spec returned. source = {file = name for messages, text = the spec's
-- text for line numbers or nil, set = {[path] = place} for what the command line gave or nil}.
-- Returns the shape (every field set, but rope, qk_norm, mla, block and tile may be nil), or nil
-- and a message.
function spec.check(raw, source)
    if type(raw) ~= "table" then
        return nil, ("%s: the spec returns %s; it must return one table of fields"):format(
            source.file, raw == nil and "nothing" or shorten(literal(raw)))
    end
    local good, result = pcall(function()
        return complete(check_rows(raw, spec.fields, source, ""), source)
    end)
    if good then
        return result
    elseif type(result) == "table" and result.refusal then
        return nil, result.refusal
    end
    error(result, 0)
end

-- Splits "rope.theta=1e4" and reads the value: Lua, or a bare word for a string.
-- Returns path, value (may be nil) or raises a refusal.
local function parse_set(text)
    local path, value = text:match("^%s*([%a_][%w_.]*)%s*=(.*)$")
    if not path or path:find("%.%.") or path:find("%.$") then
        return nil, ("--set %s: it takes FIELD=VALUE, such as heads=8 or rope.theta=1e4"):format(
            shorten(text))
    end
    local word = value:match("^%s*([%a_][%w_%-]*%.?%d*)%s*$") -- sse4.2 is one too
    if word and word ~= "true" and word ~= "false" and word ~= "nil" then
        return path, word
    end
    local result, message = attnc.sandbox("return " .. value, "--set")
    if message and path == "isa" then
        return nil, ('--set %s: it takes a name, or { "avx2", "scalar" } for some; --isa takes '
            .. "avx2,scalar"):format(shorten(text:gsub("%c", "?")))
    elseif message then
        message = message:gsub("%(spec%):%d+: ", ""):gsub("%c", "?")
        return nil, ("--set %s: %s"):format(shorten(text), message)
    end
    return path, result
end

--- A --set argument in one spelling, for the command that written files name; and its path.
function spec.normal_set(text)
    local path, value = parse_set(text)
    local word = type(value) == "string" and value:find("^[%a_][%w_]*$")
    return path .. "=" .. (word and value or literal(value)), path
end

-- Puts a value at a dotted path of the raw spec; false if what is on the way is no table.
local function assign(raw, path, value)
    local parent, name = path:match("^(.*)%.([^.]*)$")
    for step in (parent or ""):gmatch("[^.]+") do
        if raw[step] == nil then
            raw[step] = {}
        end
        raw = raw[step]
        if type(raw) ~= "table" then
            return false
        end
    end
    raw[name or path] = value
    return true
end

--- options = {file = name, text = the spec's text, sets = array of "field=value", isa = nil or the
-- list of --isa}. Returns the shape, or nil and a message. The text runs in the sandbox.
function spec.load(options)
    local file = options.file:gsub("%c", "?")
    local text = options.text:gsub("^\xef\xbb\xbf", "") -- a byte order mark, as some editors write
    local raw, message = attnc.sandbox(text, file)
    if message then
        message = message:gsub("^sandbox:%d+: ", "")
        local at = message:match("^%(spec%):()")
        message = at and file .. ":" .. message:sub(at) or file .. ": " .. message
        return nil, (message:gsub("%(spec%)", "the spec"):gsub("%c", "?"))
    end
    local source = { file = file, text = text, set = {} }
    for _, set in ipairs(options.sets) do
        local path, value = parse_set(set)
        if not path then
            return nil, value
        end
        if type(raw) == "table" and not assign(raw, path, value) then
            return nil, ("--set %s: the spec has no table there"):format(shorten(set))
        end
        source.set[path] = "--set " .. shorten(set:gsub("%c", "?"))
    end
    if options.isa and type(raw) == "table" then
        raw.isa = split_isas(options.isa)
        source.set.isa = "--isa " .. shorten(options.isa:gsub("%c", "?"))
    end
    return spec.check(raw, source)
end

function spec.text(fields)
    local lines = { "return {" }
    for _, row in ipairs(spec.fields) do
        if fields[row.name] ~= nil then
            lines[#lines + 1] = ("  %s = %s,"):format(row.name, literal(fields[row.name]))
        end
    end
    return table.concat(lines, "\n") .. "\n}\n"
end

--- The spec of a shape as Lua text, without the fields that are at their default.
function spec.canonical(shape)
    local layer = shape.emit ~= "attention"
    local shown = {
        name = shape.name,
        d_model = layer and shape.d_model or nil,
        heads = shape.heads,
        kv_heads = shape.kv_heads ~= shape.heads and shape.kv_heads or nil,
        head_dim = shape.head_dim,
        v_head_dim = shape.v_head_dim ~= shape.head_dim and shape.v_head_dim or nil,
        seq = shape.exact and shape.capacity or nil,
        max_seq = not shape.exact and shape.capacity or nil,
        isa = #shape.isa == 1 and shape.isa[1] or shape.isa,
        causal = shape.causal or nil,
        window = shape.window > 0 and shape.window or nil,
        window_right = shape.window_right > 0 and shape.window_right or nil,
        cache = shape.cache ~= "linear" and shape.cache or nil,
        key_range = shape.key_range or nil,
        scale = shape.scale ~= 1 / math.sqrt(shape.head_dim) and shape.scale or nil,
        softcap = shape.softcap,
        sinks = shape.sinks or nil,
        lse = shape.lse or nil,
        alibi = shape.alibi,
        relative_bias = shape.relative_bias,
        clip_qkv = shape.clip_qkv,
        mask = shape.mask and (shape.mask.heads and shape.mask or shape.mask.type),
        rope = shape.rope,
        cross = shape.cross and { max_seq = shape.cross.max_seq,
            d_model = shape.cross.d_model ~= shape.d_model and shape.cross.d_model or nil },
        qk_norm = shape.qk_norm,
        mla = shape.mla,
        qkv_bias = shape.qkv_bias or nil,
        o_bias = shape.o_bias or nil,
        weights_layout = shape.weights_layout ~= "out_in" and shape.weights_layout or nil,
        block = shape.block,
        emit = shape.emit,
        tile = shape.tile,
        unroll = shape.unroll ~= "full" and shape.unroll or nil,
    }
    return spec.text(shown)
end

function spec.runs(id)
    return cpu.runs(isa.get(id))
end

--- The instruction sets that this machine runs and that have the bits of its best one, in order.
function spec.native()
    local ids, sets = {}, isa.all()
    local fused
    for index = #sets, 1, -1 do
        local set = sets[index]
        if cpu.runs(set) and (fused == nil or set.fused == fused) then
            fused = set.fused
            table.insert(ids, 1, set.id)
        end
    end
    return ids
end

function spec.help()
    local lines = { "A spec is a Lua file that returns one table of these fields:\n" }
    local later = { "\nNot supported yet, and refused:\n" }
    local function add(rows, indent, prefix)
        for _, each in ipairs(rows) do
            local gap = math.max(1, 16 - #indent - #each.name)
            local name = indent .. each.name .. (" "):rep(gap)
            if each.kind == "unbuilt" then
                later[#later + 1] = ("%-16s%s"):format(prefix .. each.name, each.meaning)
            else
                lines[#lines + 1] = name .. each.meaning
                lines[#lines + 1] = ("%18s%sdefault: %s"):format("",
                    each.fields and "" or allowed(each) .. "; ", each.default)
                add(each.fields or {}, indent .. "  ", each.name .. ".")
            end
        end
    end
    add(spec.fields, "", "")
    return table.concat(lines, "\n") .. "\n" .. table.concat(later, "\n") .. "\n"
end

return spec
