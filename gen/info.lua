--- `attnc info`: shape, plan, costs and the KV cache of a spec's relatives.
--
-- info.table(shape) -> plain table, for JSON: counts and bytes are integers
-- info.text(shape)  -> the same for a reader
local arguments = require "arguments"
local isa = require "isa"
local mla = require "mla"
local plan = require "plan"

local info = {}

local BAR = 40 -- characters of the longest bar

-- "MHA", "GQA" or "MQA" with `kv` KV heads for `heads` query heads.
local function kind(heads, kv)
    return kv == heads and "MHA" or kv == 1 and "MQA" or "GQA"
end

-- The cache of the same model with every number of KV heads that divides its heads, most first, and
-- with its latent.
local function relatives(shape)
    local list = {}
    local function add(name, fields)
        local memory = plan.memory(setmetatable(fields, { __index = shape }))
        list[#list + 1] = {
            kind = name,
            kv_heads = fields.kv_heads,
            cache_bytes = memory.cache_bytes,
            bytes_per_position = memory.kv_bytes_per_token,
            ratio = memory.kv_bytes_per_token / (list[1] or
                { bytes_per_position = memory.kv_bytes_per_token }).bytes_per_position,
            this_spec = not shape.mla and fields.kv_heads == shape.kv_heads,
        }
    end
    for kv = shape.heads, 1, -1 do
        if shape.heads % kv == 0 then
            add(kind(shape.heads, kv), { kv_heads = kv, mla = false })
        end
    end
    if shape.mla then
        add("MLA", { kv_heads = shape.kv_heads })
        list[#list].this_spec = true
    end
    return list
end

-- The attention that a kernel holds: array of {shape, name}, the one on the cache first.
local function forms(shape)
    if not shape.mla then
        return { { shape = shape } }
    end
    return { { shape = mla.on_cache(shape), name = "latent" },
        { shape = mla.expanded(shape), name = "expanded" } }
end

function info.table(shape)
    local memory, plans = plan.memory(shape), {}
    for _, id in ipairs(shape.isa) do
        for _, form in ipairs(forms(shape)) do
            local fields = {}
            for _, reason in ipairs(plan.make(form.shape, isa.get(id)).reasons) do
                fields[reason.field] = { value = reason.value, why = reason.why }
            end
            if form.name then
                plans[id] = plans[id] or {}
                plans[id][form.name] = fields
            else
                plans[id] = fields
            end
        end
    end
    return {
        attnc = attnc.version,
        shape = shape,
        kind = shape.mla and "MLA" or kind(shape.heads, shape.kv_heads),
        plan = plans,
        parameters = memory.parameters,
        flops = { prefill = memory.flops_prefill, decode = memory.flops_decode },
        bytes = {
            weights = memory.weights_bytes, -- the layer's
            block_weights = memory.block_weights_bytes,
            cache = memory.cache_bytes,
            cache_per_position = memory.kv_bytes_per_token,
            scratch = memory.scratch_bytes,
            scratch_with_cache = memory.cache_scratch_bytes,
            scratch_per_thread = memory.thread_bytes,
            -- without a cache, by a pool of N threads: base + N * per_thread
            scratch_by_pool = {
                base = memory.layer_bytes + memory.all_heads_bytes,
                per_thread = memory.thread_bytes,
            },
        },
        kv_cache = relatives(shape),
    }
end

local function with_unit(amount, step, units)
    local unit = 0
    local value = amount + 0.0
    while value >= step and unit < #units do
        value, unit = value / step, unit + 1
    end
    return unit == 0 and "" or ("%.4g %s"):format(value, units[unit])
end

local function bytes(amount)
    return with_unit(amount, 1024, { "KiB", "MiB", "GiB", "TiB", "PiB" })
end

function info.text(shape)
    local all, lines = info.table(shape), {}
    local function add(...)
        lines[#lines + 1] = (string.format(...):gsub("%s+$", ""))
    end
    local function row(name, amount, note)
        add("  %-26s %18d  %s", name, amount, note or "")
    end
    local layer = shape.emit ~= "attention"

    add("%s: %s, %s%s", shape.name,
        shape.block and "transformer block" or layer and "attention layer with projections"
            or "attention on given q, k and v",
        all.kind, plan.features(shape))
    add("  d_model %d, %d heads, %d KV heads, head_dim %d, v_head_dim %d", shape.d_model,
        shape.heads, shape.kv_heads, shape.head_dim, shape.v_head_dim)
    local rope = shape.rope
    add("  %s %d positions, scale %.9g, %s", shape.exact and "exactly" or "up to", shape.capacity,
        shape.scale, rope and ("rope on %d channels (%s, theta %.17g%s%s)"):format(rope.rotary_dim,
            rope.layout, rope.theta, rope.scaling and ", scaling " .. rope.scaling.type or "",
            rope.offset and (", from position %d on"):format(rope.offset) or "") or "no rope")
    if layer then
        local biases = {}
        biases[#biases + 1] = shape.qkv_bias and (shape.mla and "latents" or "q, k, v") or nil
        biases[#biases + 1] = shape.o_bias and "output" or nil
        add("  weights %s, bias on %s", shape.weights_layout,
            #biases > 0 and table.concat(biases, ", ") or "nothing")
        local norm = shape.qk_norm
        if norm then
            add("  %s of q and k %s, eps %.9g, %s", norm.type, norm.width == "full"
                and "over all heads" or "per head", norm.eps, (norm.order:gsub("_", " ")))
        end
        local block = shape.block
        if block then
            add("  %s %s%s, eps %.9g; %s%s%s", block.norm, block.place,
                block.parallel_norms == 2 and " (two norms)"
                    or block.attention_norm == false and " (none before attention)" or "",
                block.eps, block.ffn == 0 and "no feed-forward"
                    or ("feed-forward %d wide, %s%s%s"):format(block.ffn,
                        block.gated and "gated " or "", block.act,
                        block.bias and ", with biases" or ""),
                block.layer_scale and "; layer scale" or "",
                block.residual_multiplier
                    and ("; residuals times %.9g"):format(block.residual_multiplier) or "")
        end
        local own = shape.mla
        if own then
            add("  latent of %d channels and %d that turn, q from %s; %d positions expanded",
                own.kv_rank, own.rope_dim, own.q_rank and ("a latent of %d"):format(own.q_rank)
                or "x", mla.expanded(shape).capacity)
        end
    end

    for _, id in ipairs(shape.isa) do
        for _, form in ipairs(forms(shape)) do
            add("\nPlan for %s%s", id, form.name and (", %s form (head_dim %d, v_head_dim %d)")
                :format(form.name, form.shape.head_dim, form.shape.v_head_dim) or "")
            for _, reason in ipairs(plan.make(form.shape, isa.get(id)).reasons) do
                add("  %-16s %5s  %s", reason.field, reason.value, reason.why)
            end
        end
    end

    local function matrix(inputs, outputs)
        return ("%d x %d"):format(inputs, outputs)
    end
    local parameters = all.parameters
    add("\nParameters%s", layer and "" or " of the projections around it")
    for _, each in ipairs(shape.mla and mla.matrices(shape) or {}) do
        if each.name ~= "absorb" then -- k_b once more
            row("W" .. each.name, each.heads * each.columns * each.depth,
                (each.heads > 1 and each.heads .. " times " or "")
                    .. matrix(each.depth, each.columns))
        end
    end
    if not shape.mla then
        row("Wq", parameters.wq, matrix(shape.d_model, shape.heads * shape.head_dim))
        row("Wk", parameters.wk, matrix(shape.d_model, shape.kv_heads * shape.head_dim))
        row("Wv", parameters.wv, matrix(shape.d_model, shape.kv_heads * shape.v_head_dim))
        row("Wo", parameters.wo, matrix(shape.heads * shape.v_head_dim, shape.d_model))
    end
    if parameters.bias > 0 then
        row("biases", parameters.bias)
    end
    if parameters.norm then
        row(shape.mla and "norms of latents" or "norms of q and k", parameters.norm)
    end
    for _, extra in ipairs(arguments.packed(shape)) do
        row(extra.name:gsub("_", " "), extra.floats)
    end
    if shape.block then
        if shape.block.ffn > 0 then
            row("feed-forward", parameters.ffn, ("%d of %s"):format(shape.block.gated and 3 or 2,
                matrix(shape.d_model, shape.block.ffn)))
        end
        if parameters.ffn_bias > 0 then
            row("  its biases", parameters.ffn_bias)
        end
        if parameters.layer_scale then
            row("layer scales", parameters.layer_scale)
        end
        row("norms of the block", parameters.block_norm)
    end
    row("in all", parameters.total)

    local function operations(name, amount)
        row(name:format(shape.capacity), amount,
            with_unit(amount, 1000, { "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP" }))
    end
    add("\nFloating-point operations")
    operations("prefill of %d", all.flops.prefill)
    operations("decode of position %d", all.flops.decode)

    local function memory(name, amount)
        row(name, amount, bytes(amount))
    end
    add("\nMemory in bytes")
    if layer then
        memory("packed weights", all.bytes.block_weights or all.bytes.weights)
    end
    memory("KV cache", all.bytes.cache)
    local cache = plan.layout(shape).cache
    if cache.ring then
        row("  a ring of positions", cache.positions)
        row("  of which a call brings", cache.chunk, "at most")
    end
    memory("KV cache a position", all.bytes.cache_per_position)
    memory("scratch, with a cache", all.bytes.scratch_with_cache)
    memory("  a further thread", all.bytes.scratch_per_thread)
    memory("scratch, without a cache", all.bytes.scratch)
    local pool = all.bytes.scratch_by_pool
    add("  %-26s %18s", "  by a pool of N threads", ("%d + N * %d"):format(pool.base,
        pool.per_thread))

    add("\nKV cache of this model by number of KV heads%s, in bytes",
        shape.mla and ", and of its latent" or "")
    for _, each in ipairs(all.kv_cache) do
        local bar = ("#"):rep(math.max(1, math.floor(each.ratio * BAR + 0.5)))
        add("  %s %4d %16d  %-11s %-" .. BAR .. "s %5.4g %% %s", each.kind, each.kv_heads,
            each.cache_bytes, bytes(each.cache_bytes), bar, each.ratio * 100,
            each.this_spec and "<- this spec" or "")
    end
    return table.concat(lines, "\n") .. "\n"
end

return info
