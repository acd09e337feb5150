--- From a model's config.json to what its attentions are, and to specs of them.
--
-- import.read(file, text)          -> model | nil, message
-- import.rows(model)               -> array of rows: tables with the columns of import.columns
-- import.specs(model, options)     -> array of specs of the distinct attentions | nil, message
-- import.report(model, specs)      -> text for a reader: what was read, which layers use what
-- import.types()                   -> the model types that are known, sorted
--
-- A model type is a table of facts (models.lua). A fact is a constant, a key of the config with its
-- kind and default, or a function of the other facts; it is computed when asked for, once.
-- Messages read "file: key 'x' = value: what is wrong; what would be right".
local facts = require "import/facts"
local models = require "import/models"
local spec = require "spec"

local import = {}

import.columns = { "model", "component", "d_model", "heads", "kv_heads", "head_dim", "kind",
    "causal", "position", "rope_theta", "rotary_dims", "rope_scaling", "window", "softcap", "scale",
    "qkv_bias", "o_bias", "qk_norm", "sinks", "norm", "ffn_act", "ffn_width", "layers",
    "kv_bytes_tok_layer_f16", "attn_params_layer", "extra_params_layer", "note" }

import.default_isa = "scalar,avx2,avx512,neon"

-- ---- which type a config is of ----

function import.types()
    local names = {}
    for name in pairs(models.types) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

-- The name of a model in messages, rows and specs: the file's, or its directory's if the file is
-- called config.json, or the type's.
local function model_name(file, model_type)
    local name = file:match("[^/]*$"):gsub("%.json$", "")
    if name == "config" then
        local directory = file:match("([^/]+)/[^/]*$")
        name = directory and directory:find("[^.]") and directory or model_type
    end
    return name
end

-- A config without model_type: by keys that only one kind of file has, or, as the library that
-- wrote it does, by the type's name in the file's or directory's name.
local function guess_type(reader)
    for _, row in ipairs(models.by_keys) do
        local all = true
        for name in row.keys:gmatch("%S+") do
            all = all and reader:value(name) ~= nil
        end
        if all then
            return row.type, ("keys %s"):format(row.keys)
        end
    end
    local place = (reader.file:match("[^/]*/?[^/]*$") or ""):lower()
    for _, name in ipairs(models.by_name) do
        if place:find(name, 1, true) then
            return name, "the file's name"
        end
    end
end

local function find_type(reader, standard, allowed)
    local named = reader:value("model_type")
    if named == nil and standard then
        return standard
    elseif named == nil then
        local guessed, from = guess_type(reader)
        if not guessed then
            reader:missing("model_type", "it names the kind of model, such as \"llama\"")
        end
        return guessed, from
    elseif type(named) ~= "string" then
        reader:refuse("model_type", named, "not a text; it takes the name of a model type")
    elseif models.refused[named] then
        reader:refuse("model_type", named, models.refused[named])
    elseif not models.types[named] then
        local known = {}
        for i, name in ipairs(import.types()) do
            known[i] = { name = name, also = "" }
        end
        local guess = named ~= "" and spec.nearest(named, known)
        reader:refuse("model_type", named, "unknown model type; " .. (guess
            and ("did you mean '%s'?"):format(guess)
            or "attnc help models lists the known ones"))
    elseif allowed and not (" " .. allowed .. " "):find(" " .. named .. " ", 1, true) then
        reader:refuse("model_type", named, "not a type that this part of the model can have; it "
            .. "takes " .. allowed:gsub(" ", ", "))
    end
    return named
end

-- ---- reading ----

-- A component with its variants: attentions that differ from layer to layer.
local function read_component(f, label, suffix)
    local component = { label = label, suffix = suffix, layers = f.layers, variants = {} }
    local variants = f.variants or { {} }
    for _, variant in ipairs(variants) do
        local layers = variant.layers
        if not layers then
            layers = {}
            for i = 0, f.layers - 1 do
                layers[#layers + 1] = i
            end
        end
        if #layers > 0 then
            local v = f:with(variant.facts or {})
            facts.complete(v)
            component.variants[#component.variants + 1] = { facts = v, layers = layers,
                suffix = variant.suffix, label = variant.label, row_label = variant.row_label,
                row = variant.row }
        end
    end
    if #component.variants == 1 then
        local only = component.variants[1]
        only.label, only.row_label, only.suffix, only.row = nil, nil, nil, nil
    end
    if f.one_row and #component.variants > 1 then
        component.one_row = f.one_row
    end
    return component
end

local function read_type(model, reader, name, label, suffix, extra)
    local kind = models.types[name]
    for _, part in ipairs(kind.parts or {}) do
        local inner = reader:part(part.key, part.instead)
        local inner_type = find_type(inner, part.standard, part.types)
        read_type(model, inner, inner_type, part.label, part.suffix, part.facts)
    end
    for _, component in ipairs(kind.components or (kind.parts and {}) or { {} }) do
        local f = facts.new(reader, { extra or {}, component, kind })
        local own = component.label or f.label
        if label then
            -- a part of a larger model: its own name only where it says more
            own = component.label and #kind.components > 1 and label .. " " .. own or label
        end
        model.components[#model.components + 1] = read_component(f, own,
            suffix and component.suffix and suffix .. "_" .. component.suffix or suffix
                or component.suffix)
    end
end

--- file: the config's path, for names and messages; text: what is in it.
function import.read(file, text)
    local shown = file:gsub("%c", "?")
    text = text:gsub("^\xef\xbb\xbf", "") -- a byte order mark, as some editors write
    if text:find("^\xff\xfe") or text:find("^\xfe\xff") or text:find("\0", 1, true) then
        return nil, shown .. ": line 1: not a text, or one in UTF-16; it takes JSON in UTF-8"
    end
    local values, message = attnc.parse_json(text, facts.null)
    if message then
        message = message:gsub(" without JSON_ALLOW_NUL", ""):gsub("%c", "?")
        return nil, ("%s: %s"):format(shown, message)
    elseif not facts.is_object(values) then
        return nil, shown .. ": not a model's configuration; it takes a JSON object"
    end
    local model = { file = file, components = {} }
    local good, problem = pcall(function()
        local reader = facts.reader(shown, values)
        local name, from = find_type(reader)
        model.type, model.type_from = name, from
        model.name = model_name(file, name)
        read_type(model, reader, name)
    end)
    if good then
        return model
    elseif type(problem) == "table" and problem.refusal then
        return nil, problem.refusal
    end
    error(problem, 0)
end

-- ---- rows ----

local plain = facts.plain

local function dash(value)
    return value == nil and "-" or value
end

local function yes(value)
    return value == true and "yes" or value == false and "no" or value
end

local function attention_kind(f)
    return f.mla and "MLA" or f.kv_heads == f.heads and "MHA" or f.kv_heads == 1 and "MQA" or "GQA"
end

-- Parameters of the projections and their biases.
local function parameters(f)
    local d, source = f.d_model, f.source_width or f.d_model
    local q, k, v = f.heads * f.head_dim, f.kv_heads * f.head_dim, f.kv_heads * f.v_head_dim
    local o = f.heads * f.v_head_dim
    local mla, total = f.mla, o * d + (f.o_bias and d or 0)
    if mla then
        local low = mla.q_rank
        local kv_a = mla.kv_rank + mla.rope_dim
        total = total + d * kv_a + mla.kv_rank * f.heads * (mla.nope_dim + f.v_head_dim)
            + (low and d * low + low * q or d * q)
        if f.qkv_bias ~= false then
            total = total + kv_a + (low or 0)
        end
        return total
    end
    total = total + d * q + source * (k + v)
    if f.qkv_bias == true then
        total = total + q + k + v
    elseif f.qkv_bias == "q,v only" then
        total = total + q + v
    end
    return total
end

-- Parameters of the attention beside its projections: norms of q, k and latents, sinks.
local function extra_parameters(f)
    local total = f.sinks and f.heads or 0
    local norm = f.qk_norm
    if norm then
        local each = norm.bias and 2 or 1
        local wide = norm.width == "full" or norm.weights == "per_head"
        total = total + each * (wide and (f.heads + f.kv_heads) or 2) * f.head_dim
    end
    if f.mla then
        total = total + f.mla.kv_rank + (f.mla.q_rank or 0)
    end
    return total
end

local function qk_norm_text(norm)
    if not norm then
        return "none"
    elseif norm.weights == "per_head" then
        return norm.type .. " per head, own weights per head (no bias)"
    end
    local order = norm.order:gsub("_", " ")
    return ("%s %s (%s%s)"):format(norm.type,
        norm.width == "full" and "over the full projected width" or "per head",
        norm.unit_offset and "1+w, " or "", order)
end

local function window_text(f)
    local window, longest = f.window, f.max_seq
    if f.window_text then
        return f.window_text
    elseif not window then
        return "-"
    elseif longest and window >= longest then
        return ("none in effect (%d %s %d)"):format(window, window > longest and ">" or "=",
            longest)
    end
    return ("%d (self + %d before)"):format(window, window - 1)
end

--- Every value is a text, as a cell of a table is.
function import.rows(model)
    local rows = {}
    for _, component in ipairs(model.components) do
        local own_rows = {}
        for _, variant in ipairs(component.variants) do
            own_rows[#own_rows + 1] = variant.row ~= false and variant or nil
        end
        for _, variant in ipairs(own_rows) do
            local f = variant.facts
            local mla = f.mla
            local row = {
                model = model.name,
                component = component.one_row and component.label or variant.row_label
                    or variant.label or component.label,
                d_model = f.d_model,
                heads = f.heads,
                kv_heads = f.kv_heads,
                head_dim = f.head_dim,
                kind = attention_kind(f),
                causal = yes(f.causal),
                position = f.position,
                rope_theta = f.rope and plain(f.rope.theta)
                    .. (f.rope.theta_default and "(default)" or ""),
                rotary_dims = f.rope and f.rope.rotary_dim,
                rope_scaling = f.rope and f.rope.scaling and f.rope.scaling_text,
                window = component.one_row or window_text(f),
                softcap = f.softcap and plain(f.softcap),
                scale = f.scale_text,
                qkv_bias = yes(f.qkv_bias),
                o_bias = yes(f.o_bias),
                qk_norm = qk_norm_text(f.qk_norm),
                sinks = yes(f.sinks or false),
                norm = f.norm,
                ffn_act = f.ffn_act,
                ffn_width = f.ffn_width,
                layers = f.layers,
                kv_bytes_tok_layer_f16 = 2 * (mla and mla.kv_rank + mla.rope_dim
                    or f.kv_heads * (f.head_dim + f.v_head_dim)),
                attn_params_layer = parameters(f),
                extra_params_layer = extra_parameters(f),
                note = f.note or "",
            }
            for _, name in ipairs(import.columns) do
                row[name] = tostring(dash(row[name]))
            end
            rows[#rows + 1] = row
            if component.one_row then
                break
            end
        end
    end
    return rows
end

-- ---- specs ----

-- A prefix of C names from any text, cut so that every suffix of up to `room` letters fits.
local function identifier(text, suffix, room)
    local name = text:lower():gsub("[^a-z0-9]+", "_"):gsub("^_+", "")
    if not name:find("^[a-z]") then
        name = "m_" .. name
    end
    suffix = suffix and "_" .. suffix or ""
    local longest = 40 - (room and room > 0 and room + 1 or 0)
    name = name:sub(1, longest):gsub("_+$", "")
    if not spec.good_name(name .. suffix) then
        name = name:sub(1, longest - 2):gsub("_+$", "") .. "_m"
    end
    return name .. suffix
end

local function sorted_pairs(t)
    local keys = {}
    for key in pairs(t) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    local i = 0
    return function()
        i = i + 1
        return keys[i], t[keys[i]]
    end
end

-- Positions of a component: {seq = exactly so many} or {max_seq = up to so many} or {}.
local function positions(f, seq)
    if f.tokens then
        return { seq = f.tokens }
    elseif seq then
        return { seq = seq }
    end
    return { max_seq = f.max_seq }
end

-- The block of a spec, or nil where f.no_block says why there is none.
local function block_fields(f)
    if f.no_block then
        return nil
    end
    local layernorm = f.norm_type == "layernorm"
    local multiplier, norm_bias, ffn = f.residual_multiplier, nil, not f.without_ffn
    if f.norm_bias ~= layernorm then -- not its default
        norm_bias = f.norm_bias
    end
    return {
        norm = f.norm_type,
        place = f.place ~= "pre" and f.place or nil,
        parallel_norms = f.parallel_norms == 2 and 2 or nil,
        attention_norm = f.attention_norm, -- nil, or false
        eps = f.norm_eps + 0.0,
        unit_offset = f.unit_offset or nil,
        norm_bias = norm_bias,
        ffn = ffn and f.ffn_width or 0,
        act = ffn and f.act or nil,
        gated = ffn and f.gated or nil,
        bias = ffn and f.ffn_bias or nil,
        layer_scale = f.layer_scale and true or nil,
        residual_multiplier = multiplier ~= 1 and multiplier or nil,
    }
end

local function spec_fields(f, name, options)
    local length = positions(f, options.seq)
    local n = length.seq or length.max_seq
    local window = f.window and not (n and f.window >= n) and f.window or nil
    local rope, scaling = f.rope, nil
    if rope and rope.scaling then
        scaling = {}
        for key, value in pairs(rope.scaling) do
            scaling[key] = value
        end
    end
    -- without a length it is a spec that is refused, never one of self attention
    local source = f.crosses and { max_seq = f.source_tokens or options.seq or f.source_seq,
        d_model = f.source_width ~= f.d_model and f.source_width or nil } or nil
    return {
        name = name,
        d_model = f.d_model,
        heads = f.heads,
        kv_heads = f.kv_heads ~= f.heads and f.kv_heads or nil,
        head_dim = f.head_dim,
        v_head_dim = f.v_head_dim ~= f.head_dim and f.v_head_dim or nil,
        seq = not source and length.seq or nil,
        max_seq = length.max_seq or source and length.seq or nil, -- of queries there are any number
        isa = options.isa,
        causal = f.causal == true or nil,
        mask = f.mask,
        window = window,
        window_right = window and f.window_right or nil,
        cache = window and f.causal == true and "ring" or nil,
        scale = f.scale ~= 1 / math.sqrt(f.head_dim) and f.scale + 0.0 or nil,
        softcap = f.softcap,
        sinks = f.sinks or nil,
        alibi = f.alibi,
        relative_bias = f.relative_bias,
        rope = rope and {
            theta = rope.theta,
            rotary_dim = rope.rotary_dim ~= f.head_dim and rope.rotary_dim or nil,
            layout = rope.layout,
            scaling = scaling,
        },
        qk_norm = f.qk_norm or nil,
        clip_qkv = f.clip_qkv,
        qkv_bias = f.qkv_bias ~= false or nil,
        o_bias = f.o_bias or nil,
        weights_layout = f.weights_layout,
        mla = f.mla,
        cross = source,
        block = block_fields(f),
    }
end

-- "0, 2, ..., 24" or "0-4, 6-10".
local layer_list = facts.layer_list

local function comment(lines, format, ...)
    lines[#lines + 1] = "-- " .. format:format(...):gsub("%c", "?")
end

local function all_or_some(use)
    local layers, count = use.variant.layers, use.component.layers
    return #layers == count and ("all %d layers"):format(count)
        or ("layer%s %s of %d"):format(#layers > 1 and "s" or "", layer_list(layers), count)
end

-- The length of cross attention's source.
local function source_text(f, cross)
    if not cross.max_seq then
        return "its length is not in the config: "
            .. (f.source_advice or "give --seq N, or put cross.max_seq into the spec")
    end
    return ("up to %d positions%s"):format(cross.max_seq, f.source_tokens and ", " .. f.source_from
        or not f.source_seq and ", as --seq says; the config does not" or "")
end

-- What fields can't say, and whoever loads weights and calls the kernel has to know: array of
-- {what, in words}.
local function words(f, fields)
    local found = {}
    local function add(what, format, ...)
        found[#found + 1] = { what, format:format(...) }
    end
    if fields.cross then
        add("source", "%s", source_text(f, fields.cross))
    end
    if f.no_block then
        add("block", "no spec of it: %s (norm %s, feed-forward %s, %d wide)", f.no_block, f.norm,
            f.ffn_act, f.ffn_width)
    elseif f.layer_part then
        add("block", "%s", f.layer_part)
    end
    if not f.no_block and f.norm_weight == false then
        add("norms", "the block's have no weights: give ones")
    end
    if f.qkv_bias ~= true and f.qkv_bias ~= false then
        add("biases", "of %s; the others are zeros", f.qkv_bias)
    end
    if f.mask then
        add("mask", "%s", f.mask_text)
    end
    if f.layer_scale then
        add("layer scale", "%s", f.layer_scale)
    end
    if f.embedding_multiplier ~= 1 then
        add("embeddings", "times %s before the first block", facts.plain(f.embedding_multiplier))
    end
    return found
end

local function spec_text(model, uses, fields, options)
    local f, lines = uses[1].variant.facts, {}
    comment(lines, "Written by attnc %s: %s", attnc.version, options.command)
    comment(lines, "Importing again replaces this file as long as the line above stands in it.")
    for _, use in ipairs(uses) do
        comment(lines, "%s (%s), %s: %s", model.name, model.type,
            use.variant.label or use.component.label, all_or_some(use))
    end
    for _, each in ipairs(words(f, fields)) do
        comment(lines, "%s: %s", each[1], each[2])
    end
    if model.base ~= fields.name then
        comment(lines, 'of the model name = "%s"', model.base)
    end
    return table.concat(lines, "\n") .. "\n" .. spec.text(fields)
end

-- Whether a spec is to be completed by hand: a length that the config does not say.
local function lacks_length(fields)
    return not (fields.seq or fields.max_seq) or fields.cross and not fields.cross.max_seq
end

--- options = {seq = N or nil, isa = list or nil, command = the command line}.
-- Each spec: {name =, file =, text =, component =, uses = array of {label, layers},
-- problem = which length is missing, or nil}. What else attnc refuses of a spec, by what its fields
-- are to each other, is the config's fault.
function import.specs(model, options)
    local isa, wrong = spec.isa_list(options.isa or import.default_isa)
    if not isa then
        return nil, wrong
    end
    options = { seq = options.seq, command = options.command, isa = #isa == 1 and isa[1] or isa }
    local count, found, free, fixed = 0, {}, false, nil -- fixed: facts with other tokens than --seq
    for _, component in ipairs(model.components) do
        for _, variant in ipairs(component.variants) do
            local f = variant.facts
            free = free or not f.tokens
            fixed = fixed or f.tokens ~= options.seq and f or nil
            if options.seq and not f.tokens and f.table_seq and options.seq > f.table_seq then
                return nil, ("--seq %d: more than the %d positions that %s has a table for"):format(
                    options.seq, f.table_seq, model.name)
            end
            -- the same attention, whatever its layers are called, is one spec
            local sign = spec.text(spec_fields(f, "x", options))
            if not found[sign] then
                count = count + 1
                found[count] = { component = component, variant = variant, uses = {} }
                found[sign] = found[count]
            end
            local uses = found[sign].uses
            uses[#uses + 1] = { component = component, variant = variant }
        end
    end
    -- where --seq says nothing of any part
    if options.seq and fixed and not free then
        return nil, ("--seq %d: %s has %d positions, by %s"):format(options.seq, model.name,
            fixed.tokens, fixed.tokens_from)
    end
    model.base = identifier(model.name)
    local specs, names, suffixes, room = {}, {}, {}, 0
    for i = 1, count > 1 and count or 0 do
        local own, variant = found[i].component.suffix, found[i].variant.suffix
        suffixes[i] = own and variant and own .. "_" .. variant or own or variant
        room = math.max(room, #(suffixes[i] or ""))
    end
    for i = 1, count do
        local each = found[i]
        local name = identifier(model.name, suffixes[i], room)
        assert(not names[name], name)
        names[name] = true
        local fields = spec_fields(each.variant.facts, name, options)
        local text = spec_text(model, each.uses, fields, options)
        local file = name .. ".lua"
        local shape, problem = spec.load { file = file, text = text, sets = {} }
        if not shape and not lacks_length(fields) then
            return nil, ("%s: makes a spec that is none: %s"):format((model.file:gsub("%c", "?")),
                problem)
        end
        specs[i] = { name = name, file = file, text = text, uses = each.uses, fields = fields,
            facts = each.variant.facts, problem = not shape and problem or nil }
    end
    return specs
end

-- ---- the report ----

-- "  what          text", in lines of up to 100 columns that keep "name = value" together.
local function entry(what, text)
    local lines, line = {}, ("  %-13s"):format(what)
    for word in text:gsub(" = ", "\0=\0"):gmatch("[^ ]+") do
        if #line + 1 + #word > 100 and line:find("%S") then
            lines[#lines + 1] = line
            line = (" "):rep(15)
        end
        line = line .. " " .. word
    end
    lines[#lines + 1] = line
    return (table.concat(lines, "\n"):gsub("\0", " "))
end

--- What was read, for a reader.
function import.report(model, specs)
    local lines = { ("%s: model_type %s%s"):format(model.name, model.type,
        model.type_from and (" (the config names none; by %s)"):format(model.type_from) or "") }
    local function add(format, ...)
        lines[#lines + 1] = format:format(...)
    end
    local function tell(what, format, ...)
        lines[#lines + 1] = entry(what, format:format(...))
    end
    for _, each in ipairs(specs) do
        local f, fields = each.facts, each.fields
        add("")
        add("%s", each.file)
        for _, use in ipairs(each.uses) do
            tell("used by", "%s: %s", use.variant.label or use.component.label, all_or_some(use))
        end
        tell("shape", "%d query heads, %d key/value heads, head_dim %d%s (%s), d_model %d", f.heads,
            f.kv_heads, f.head_dim, f.v_head_dim ~= f.head_dim
            and (", v_head_dim %d"):format(f.v_head_dim) or "", attention_kind(f), f.d_model)
        tell("positions", "%s", fields.seq and ("exactly %d"):format(fields.seq)
            or fields.max_seq and ("up to %d"):format(fields.max_seq)
            or "not in the config: give --seq N, or put max_seq into the spec")
        for name, value in sorted_pairs(fields) do
            if not models.shown[name] then
                tell(name, "%s", spec.literal(value))
            end
        end
        for _, said in ipairs(words(f, fields)) do
            tell(said[1], "%s", said[2])
        end
        if f.note and f.note ~= "" then
            tell("note", "%s", f.note)
        end
        if each.problem then
            add("  attnc cannot write this one: %s", each.problem)
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

return import
