--- From a shape to the text of every file that is written for it.
--
-- emit.files(shape, origin) -> array of {name=, text=}, sorted by name.
--   origin.command      what the files say wrote them: "attnc gpt2-small.lua --single-file"
--   origin.single_file  one header with the code under #ifdef <NAME>_IMPLEMENTATION
--   origin.spec_text    the canonical spec, which `attnc verify` finds again in each file
-- The output depends on the shape, the origin, the templates and the version alone.
local arguments = require "arguments"
local cpu = require "cpu"
local isas = require "isa"
local mla = require "mla"
local plan = require "plan"
local relative = require "relative"
local render = require "render"
local rope = require "rope"
local series = require "series"
local spec = require "spec"
local emit = {}

-- A C float literal of exactly that float.
local function float(x)
    local text = ("%.9g"):format((string.unpack("f", string.pack("f", x))))
    return (text:find("[.e]") and text or text .. ".0") .. "f"
end

-- A C double literal.
local function float_text(x)
    local text = ("%.17g"):format(x)
    return text:find("[.e]") and text or text .. ".0"
end

-- A byte count in the header: a size_t wherever it is used.
local function size(n)
    return ("((size_t)%d)"):format(n)
end

local LOG2_E = 1.44269504088896340736

-- The greatest power of two within a count of heads.
local function power_within(heads)
    local p = 1
    while p * 2 <= heads do
        p = p * 2
    end
    return p
end

-- The slopes of ALiBi (Press et al., Train Short, Test Long, 2022) times log2 e, as C literals:
-- 2^(-bias_max k / p) for k = 1 .. p, the greatest power of two of heads; the other heads take
-- every second one of those for 2 p, from the first on.
local function alibi_slopes(shape)
    local list, p = {}, power_within(shape.heads)
    for head = 0, shape.heads - 1 do
        local share = head < p and (head + 1) / p or (2 * (head - p) + 1) / (2 * p)
        local power = -shape.alibi.bias_max * share
        local whole = math.floor(power)
        local slope = 2.0 ^ whole * series.exp((power - whole) * series.LN_2)
        list[head + 1] = float(slope * shape.alibi.scale * LOG2_E)
    end
    return list
end

-- The slopes as formulas, for the header.
local function alibi_text(shape)
    local alibi, p = shape.alibi, power_within(shape.heads)
    local times = alibi.scale ~= 1.0 and ("%.9g * "):format(alibi.scale) or ""
    local text = ("\n *             %s2^(-%.9g (h + 1) / %d)"):format(times, alibi.bias_max, p)
    if p < shape.heads then
        text = text .. (" for h < %d, then %s2^(-%.9g (2 (h - %d) + 1) / %d)"):format(p, times,
            alibi.bias_max, p, 2 * p)
    end
    return text
end

local function common_environment(shape)
    local name = shape.name
    local cached = mla.on_cache(shape)
    local env = {
        shape = cached, name = name, NAME = name:upper(),
        plan = plan, layout = plan.layout(cached), memory = plan.memory(shape),
        mla_products = shape.mla and mla.products(shape),
        mla_layer = shape.mla and plan.mla_layer(shape),
        version = attnc.version, isas = {}, rope_switches = rope.switches(shape),
        bucket_side = shape.relative_bias and relative.side(shape.relative_bias),
        float = float, float_text = float_text, size = size, LOG2_E = LOG2_E,
        arguments = arguments, extras = arguments.of(shape), packed = arguments.packed(shape),
        layer_extras = arguments.of_layer(shape),
    }
    env.extra_parameters = arguments.parameters(env.extras) -- of the attention calls
    -- cross attention only reads the cache, where its queries stand nowhere
    env.cache_parameter = (shape.cross and "const " or "") .. "void *cache"
    env.pos_parameter = shape.cross and "" or "size_t pos, "
    env.kv_capacity = env.NAME .. (shape.cross and "_CACHE_POSITIONS" or "_CAPACITY")
    env.layer_parameters = arguments.parameters(env.layer_extras)
    for index, id in ipairs(shape.isa) do
        env.isas[index] = isas.get(id)
    end
    return env
end

local function run(template, env)
    local path = ("templates/%s.t"):format(template)
    return render.run(attnc.text(path), path, env)
end

-- What the shape is called in words.
local function title(shape)
    local kind = shape.kv_heads == shape.heads and "multi-head attention"
        or shape.kv_heads == 1 and "multi-query attention" or "grouped-query attention"
    local kv_heads = ("%d KV heads"):format(shape.kv_heads)
    if shape.mla then
        kind = "multi-head latent attention"
        kv_heads = ("a latent of %d + %d channels"):format(shape.mla.kv_rank, shape.mla.rope_dim)
    end
    if shape.block then
        kind = (shape.block.ffn > 0 and "transformer block with "
            or "attention's part of a transformer block, ") .. kind
    end
    return ("%s: %s, %d query heads, %s, head_dim %d%s, %s %d positions%s"):format(
        shape.name, kind, shape.heads, kv_heads, shape.head_dim,
        shape.v_head_dim ~= shape.head_dim and (" (values %d)"):format(shape.v_head_dim) or "",
        shape.exact and "exactly" or "up to", shape.capacity, plan.features(shape))
end

-- The templates of the header, an instruction set's kernels and the dispatcher, in the order of the
-- written files.
local header_parts = { "conventions", "macros", "functions" }
local kernel_parts = { "names", "exp", "attention", "merge", "activation", "projection", "rope",
    "norm", "table" }
local dispatch_parts = { "choice", "attention", "feed_forward", "layer", "mla", "layer_calls",
    "block" }

-- What all templates of a folder give, one after the other.
local function parts_of(folder, names, env)
    local texts = {}
    for index, name in ipairs(names) do
        texts[index] = run(folder .. "/" .. name, env)
    end
    return table.concat(texts)
end

-- The header's comments and prototypes within so many columns, whatever the names and features are.
local HEADER_COLUMNS = 120

-- text: one line. Goes on in the next line, behind `more`, wherever `gap` (a pattern of what stands
-- before a blank) allows it and the line would become too long.
local function broken(text, more, gap)
    local lines = {}
    while #text > HEADER_COLUMNS do
        local head = text:sub(1, HEADER_COLUMNS + 1):match("^(.*" .. gap .. ") ")
        if not head or #head <= #more then
            head = text:match("^" .. ("."):rep(#more) .. ".-" .. gap .. "%f[ ]")
        end
        if not head or head == text then
            break
        end
        lines[#lines + 1] = head
        text = more .. text:sub(#head + 2)
    end
    lines[#lines + 1] = text
    return table.concat(lines, "\n")
end

local function header_text(env)
    local text = parts_of("header", header_parts, env)
    text = text:gsub("%f[^\n][/ ]%*[^\n]*", function(comment)
        local indent = comment:match("^[/ ]%*( *)")
        return broken(comment, " *" .. (#indent == 3 and "     " or indent), "[^ ]")
    end)
    return (text:gsub(env.NAME .. "_API [^;{]*;", function(prototype)
        for line in prototype:gmatch("[^\n]+") do
            if #line > HEADER_COLUMNS then
                local open = prototype:gsub("\n *", " "):gsub("%(", "( ", 1)
                return (broken(open, "    ", "[(,)]"):gsub("%( ", "("))
            end
        end
    end))
end

-- The environment of another form of the attention: as `own`, but for the shape and its names.
local function of_form(own, shape, suffix)
    local form = { shape = shape, id = own.id .. "_" .. suffix, layout = plan.layout(shape),
        own = plan.make(shape, own.isa) }
    return setmetatable(form, { __index = own })
end

local function kernel_text(shape, env, isa)
    local id = shape.name .. "_" .. isa.symbol
    local own = common_environment(shape)
    own.isa, own.id, own.ID = isa, id, id:upper()
    own.own = plan.make(own.shape, isa)
    -- scores come in units of log2, or as the soft cap takes them
    own.query_scale = shape.scale * LOG2_E * (shape.softcap and 2 / shape.softcap or 1)
    own.alibi_slopes = shape.alibi and alibi_slopes(shape)
    own.buckets = shape.relative_bias and relative.buckets(shape.relative_bias)
    own.rope = shape.rope and rope.constants(shape)
    local words, written = isas.vocabulary(isa, id, plan.KEY_TILE)
    setmetatable(own, {
        __index = function(_, key)
            return words[key] or _G[key]
        end,
    })
    -- first: they decide which functions stand before them
    local kernel
    if shape.mla then
        local form = of_form(own, own.mla_layer.expanded, "expanded")
        own.expanded_query_rows = form.own.query_rows
        -- the exponential serves both forms
        kernel = parts_of("kernel", { "names", "exp", "attention", "merge" }, own)
            .. parts_of("kernel", { "names", "attention" }, form)
            .. parts_of("kernel", { "activation", "projection", "rope", "norm", "table" }, own)
    else
        kernel = parts_of("kernel", kernel_parts, own)
    end
    own.functions = written()
    return ('#include "%s.h"\n'):format(shape.name) .. run("internal", env)
        .. run("vocabulary", own) .. kernel
end

-- What the dispatcher asks the CPU. env.cpus: an array of {guard=, code=}, one for each
-- architecture that has sets which depend on it. env.cpu_words: how many words the longest answer
-- has. env.asks: set id -> its masks as C text, in the order of the architecture's words.
local function add_detection(env)
    local by_arch = {}
    env.cpus, env.cpu_words, env.asks = {}, 0, {}
    for _, isa in ipairs(env.isas) do
        local arch, masks = cpu.archs[isa.arch], cpu.masks(isa)
        local own = by_arch[isa.arch]
        if next(masks) and not own then
            own = { guard = isa.guard }
            by_arch[isa.arch] = own
            env.cpus[#env.cpus + 1] = own
            local word = {}
            for index, name in ipairs(arch.words) do
                word[name] = index - 1
            end
            own.code = run("cpu/" .. isa.arch,
                setmetatable({ word = word, bits = arch.features }, { __index = env }))
            env.cpu_words = math.max(env.cpu_words, #arch.words)
        elseif next(masks) and not own.guard:find(isa.guard, 1, true) then
            own.guard = ("(%s) || (%s)"):format(own.guard, isa.guard)
        end
        env.asks[isa.id] = masks
    end
    for _, isa in ipairs(env.isas) do
        local row = {}
        for index = 1, env.cpu_words do
            local word = cpu.archs[isa.arch].words[index]
            row[index] = ("0x%xu"):format(word and env.asks[isa.id][word] or 0)
        end
        env.asks[isa.id] = table.concat(row, ", ")
    end
end

local templates_hash
local function hash_of_templates()
    if not templates_hash then
        local parts = {}
        for _, path in ipairs(attnc.list()) do
            if path:match("^gen/") or path:match("^templates/") then
                parts[#parts + 1] = path .. "\n" .. attnc.text(path)
            end
        end
        templates_hash = attnc.sha256(table.concat(parts, "\n"))
    end
    return templates_hash
end

-- The head of a file: what wrote it, the spec, three hashes. `attnc verify` reads it back.
local function with_head(origin, text, first, each, last)
    local lines = {
        "SPDX-License-Identifier: MIT-0",
        ("Written by attnc %s: %s"):format(attnc.version, origin.command),
        "command sha256 " .. attnc.sha256(origin.command),
        "spec sha256 " .. attnc.sha256(origin.spec_text),
        "templates sha256 " .. hash_of_templates(),
        "body sha256 " .. attnc.sha256(text),
        "spec:",
    }
    for line in origin.spec_text:gmatch("(.-)\n") do
        lines[#lines + 1] = "  " .. line
    end
    return first .. table.concat(lines, "\n" .. each) .. "\n" .. last .. "\n" .. text
end

local function c_file(origin, text)
    return with_head(origin, text, "/* ", " * ", " */")
end

-- Includes of the header are dropped where the header itself carries the code.
local function single_file(shape, env, header, parts)
    local code = table.concat(parts):gsub('#include "' .. shape.name .. '%.h"\n', "")
    local usage = ("\n/* Define %s_IMPLEMENTATION in exactly one C file before this header. */\n")
        :format(env.NAME)
    local guard = ("#ifdef %s_IMPLEMENTATION\n#ifndef %s_IMPLEMENTED\n#define %s_IMPLEMENTED\n")
        :format(env.NAME, env.NAME, env.NAME)
    return header .. usage .. guard .. code .. "#endif\n#endif\n"
end

local function manifest(shape, env, origin, files)
    local sets, listed = {}, {}
    local function set_of(isa, form)
        local own, tiles = plan.make(form, isa), {}
        for index, rows in ipairs(own.rows) do
            -- a tile for decode alone takes whole key tiles
            tiles[index] = { rows = rows, wide = own.wide[rows], narrow = own.narrow[rows],
                decode_only = own.decode_only[rows] or false }
        end
        -- exp2: five steps of a polynomial, and one more where 2^n is a product
        return { isa = isa.id, lanes = isa.lanes, panel = plan.PANEL, tiles = tiles,
            exp2_fmas = isa.ops.scale_unless_below and 5 or 6,
            query_rows = own.query_rows, unroll = own.unroll, reasons = own.reasons }
    end
    for index, isa in ipairs(env.isas) do
        sets[index] = set_of(isa, mla.on_cache(shape))
        sets[index].expanded = shape.mla and set_of(isa, mla.expanded(shape)) or nil
    end
    for _, file in ipairs(files) do
        local hash = attnc.sha256(file.text)
        listed[#listed + 1] = { name = file.name, bytes = #file.text, sha256 = hash }
    end
    local body = {
        name = shape.name, spec = origin.spec_text, shape = shape, memory = env.memory,
        plan = sets, files = listed, stack_bytes = plan.STACK_BYTES,
    }
    body.attnc = {
        version = attnc.version, command = origin.command,
        command_sha256 = attnc.sha256(origin.command),
        spec_sha256 = attnc.sha256(origin.spec_text), templates_sha256 = hash_of_templates(),
        body_sha256 = attnc.sha256(attnc.json(body)),
    }
    return attnc.json(body)
end

-- What tells packed memory of this shape from any other. The instruction sets share it.
local function mark(kind, shape)
    local turned = shape.rope or { theta = 0.0, rotary_dim = 0, layout = "" }
    local facts = { kind, "layout 1", shape.capacity, shape.d_model, shape.heads, shape.kv_heads,
        shape.head_dim, shape.v_head_dim, float_text(turned.theta), turned.rotary_dim,
        turned.layout, tostring(shape.qkv_bias), tostring(shape.o_bias) }
    local ring = kind == "cache" and plan.layout(shape).cache.ring
    for _, more in ipairs { turned.scaling or false, turned.offset or false,
        shape.cross or false, shape.qk_norm or false, shape.mla or false,
        ring and { ring = ring } or false, kind == "block" and shape.block or false } do
        facts[#facts + 1] = more and spec.literal(more) or nil
    end
    for _, extra in ipairs(kind ~= "cache" and arguments.packed(shape) or {}) do
        facts[#facts + 1] = spec.literal { extra.name, extra.floats }
    end
    return attnc.sha256(table.concat(facts, " ")):sub(1, 16)
end

function emit.files(shape, origin)
    local env = common_environment(shape)
    env.title = title(shape)
    env.mark = { cache = mark("cache", shape), weights = mark("weights", shape),
        block = shape.block and mark("block", shape) }
    env.single_file = origin.single_file
    env.v_parameter = shape.mla and "" or "const float *v, "
    env.alibi_text = shape.alibi and alibi_text(shape)
    add_detection(env)
    local memory, widths = env.memory, {}
    for index, panel in ipairs(env.layout.panels) do
        widths[index] = panel.width
    end
    env.panel_widths = table.concat(widths, ", ")
    env.most_bytes = math.max(memory.cache_bytes, memory.weights_bytes,
        memory.block_weights_bytes or 0,
        memory.layer_bytes + memory.all_heads_bytes + plan.MAX_THREADS * memory.thread_bytes)
    local name = shape.name
    local header, parts = header_text(env), {}
    for index, isa in ipairs(env.isas) do
        parts[index] = kernel_text(shape, env, isa)
    end
    local dispatch = ('#include "%s.h"\n'):format(name)
        .. run("internal", env) .. parts_of("dispatch", dispatch_parts, env)
    local files = {}
    local function add(file, text)
        files[#files + 1] = { name = file, text = text }
    end
    if origin.single_file then
        parts[#parts + 1] = dispatch
        add(name .. ".h", c_file(origin, single_file(shape, env, header, parts)))
    else
        add(name .. ".h", c_file(origin, header))
        for index, isa in ipairs(env.isas) do
            add(("%s_%s.c"):format(name, isa.symbol), c_file(origin, parts[index]))
        end
        add(name .. "_dispatch.c", c_file(origin, dispatch))
    end
    env.mla_selftest = shape.mla and run("selftest_mla", env):sub(1, -2)
    add(name .. "_selftest.c", c_file(origin, run("selftest", env)))
    add("CMakeLists.txt", with_head(origin, run("CMakeLists", env), "# ", "# ", "# end of head"))
    table.sort(files, function(a, b)
        return a.name < b.name
    end)
    add(name .. ".json", manifest(shape, env, origin, files))
    table.sort(files, function(a, b)
        return a.name < b.name
    end)
    return files
end

return emit
