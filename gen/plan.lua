--- The plan: from a shape and an instruction set to tiles, blocks, memory and costs.
--
-- plan.layout(shape)     -> the memory map that every instruction set shares (floats and bytes)
-- plan.make(shape, isa)  -> tile choices, with `reasons`: array of {field, value, why}
-- plan.biased(shape)     -> whether scores have biases
-- plan.features(shape)   -> what sets the attention apart, in words
-- plan.mla_layer(shape)  -> where the weights and the rows of a layer with mla lie: see there
-- plan.memory(shape)     -> byte counts, parameters, FLOPs: for the header, `attnc info`, manifest
--
-- All sizes are integers; the spec's limits keep every one of them below 2^47.
local arguments = require "arguments"
local block_rules = require "block"
local isas = require "isa"
local mla = require "mla"

local plan = {}

-- Keys of one softmax block. Part of the numeric definition: never a tuning choice.
plan.BLOCK = 512
-- Positions of a sequence: floats tell so many apart.
plan.POSITIONS = 1 << 24
-- Keys of one packed key tile, columns of one packed weight panel, and the padding of values:
-- the same on every instruction set, so that packed memory outlives a change of it.
plan.KEY_TILE = 32
plan.PANEL = 64
plan.VALUE_PANEL = 64
plan.VALUE_PAD = 16
plan.ALIGN = 64
plan.MAX_THREADS = 256
-- Stack that no written function exceeds where the compiler optimises; the tests hold it to that.
plan.STACK_BYTES = 16 << 10
-- Rows that decode takes as one: above, even one key tile's reading is hidden by multiplying.
plan.MAX_DECODE_ROWS = 16
-- Multiply-adds of one loop body: a file of a hundred thousand lines takes compilers minutes.
plan.MAX_BODY = 4096
-- Positions that a call on a ring cache may bring, at least: a layer's rows at a time.
plan.RING_CHUNK = 240
-- Inputs that a projection takes before all rows have: a panel's weights for so many are half of a
-- second-level cache.
plan.PROJECT_DEPTH = 2048
-- Score rows are padded by one cache line: rows at a stride of 4 KiB would fall into one L1 set.
plan.SCORE_STRIDE = plan.BLOCK + 16

local function ceil_to(n, step)
    return (n + step - 1) // step * step
end
plan.ceil_to = ceil_to

-- Value channels are stored in panels at most 64 wide, so that a value tile walks forward through
-- memory. No panel is narrower than 32 unless all of v is: a tile needs two vectors to run well.
local function value_panels(width, widest)
    local panels, left = {}, width
    while left > 0 do
        local panel = math.min(left, widest)
        if left - panel > 0 and left - panel < 2 * plan.VALUE_PAD then
            panel = panel - plan.VALUE_PAD
        end
        panels[#panels + 1] = { offset = width - left, width = panel }
        left = left - panel
    end
    return panels
end

-- A norm's parameters: `count` vectors of `width` weights, each padded to `stride`, then as many
-- biases where there are some.
local function norm_layout(width, count, bias)
    local it = { width = width, count = count, stride = ceil_to(width, plan.VALUE_PAD) }
    it.bias = bias and it.count * it.stride or nil -- where they begin
    it.floats = it.count * it.stride * (bias and 2 or 1)
    it.parameters = it.count * width * (bias and 2 or 1)
    return it
end

-- The norm of q or k, which has so many heads.
local function qk_norm_layout(shape, heads)
    local norm = shape.qk_norm
    return norm_layout(shape.head_dim * (norm.width == "full" and heads or 1),
        norm.weights == "per_head" and heads or 1, norm.bias)
end

-- The cache: `positions` held, at most `chunk` of them from one call, `head_floats` of a KV head. A
-- ring has `blocks` whole blocks, of which block b of the sequence takes the place b mod blocks; it
-- holds what the rows of one chunk see, and where that is the whole sequence it is none.
local function cache_layout(shape, layout)
    if shape.cache == "ring" then
        local around = shape.window - 1 + layout.reach - 1 -- keys that a row sees beside its own
        local blocks = (around + plan.RING_CHUNK + plan.BLOCK - 1) // plan.BLOCK
        local positions = blocks * plan.BLOCK
        if positions < shape.capacity then
            return { ring = blocks, positions = positions, chunk = positions - around,
                head_floats = positions * (shape.head_dim + layout.stored_values) }
        end
    end
    return { positions = layout.keys, chunk = layout.keys, head_floats = layout.head_floats }
end

function plan.layout(shape)
    local layout = {}
    -- keys and values: of the same sequence, or of the source of cross attention
    layout.keys = shape.cross and shape.cross.max_seq or shape.capacity
    layout.source_width = shape.cross and shape.cross.d_model or shape.d_model
    layout.positions = ceil_to(layout.keys, plan.KEY_TILE)
    layout.blocks = (layout.positions + plan.BLOCK - 1) // plan.BLOCK
    layout.last_block_keys = layout.positions - (layout.blocks - 1) * plan.BLOCK
    layout.value_width = ceil_to(shape.v_head_dim, plan.VALUE_PAD)
    -- Values that are channels of their keys are not stored again: a panel of them is made of a
    -- block's key tiles when it is needed, as wide as a transposed tile.
    layout.panels = value_panels(layout.value_width,
        shape.values_in_keys and plan.KEY_TILE or plan.VALUE_PANEL)
    layout.stored_values = shape.values_in_keys and 0 or layout.value_width
    -- floats of one KV head's keys and values
    layout.head_floats = layout.positions * (shape.head_dim + layout.stored_values)
    layout.group = shape.heads // shape.kv_heads
    -- a query at position i sees keys before i + reach; nil: all of them
    layout.reach = shape.causal and 1 or shape.window_right > 0 and shape.window_right or nil
    layout.cache = cache_layout(shape, layout)
    layout.cache_bytes = plan.ALIGN + shape.kv_heads * layout.cache.head_floats * 4
    -- columns and depth of the four projections
    layout.q_width = shape.heads * shape.head_dim
    layout.k_width = shape.kv_heads * shape.head_dim
    layout.v_width = shape.kv_heads * shape.v_head_dim
    layout.o_width = shape.heads * shape.v_head_dim
    layout.inner_width = math.max(layout.q_width + layout.k_width + layout.v_width
        + layout.o_width, shape.block and shape.block.ffn or 0)
    -- Rows that a layer takes at a time, whole tiles of 5 and 6. The weights are read once for
    -- them: more rows where a matrix is too big for the second-level cache and its neighbours.
    local matrix_bytes = shape.d_model * math.max(layout.q_width, layout.o_width,
        shape.block and shape.block.ffn or 0) * 4
    local longest = math.max(shape.capacity, layout.keys)
    layout.layer_rows = math.min(longest, matrix_bytes > 4 << 20 and 480 or 240)
    if shape.qk_norm then
        layout.q_norm = qk_norm_layout(shape, shape.heads)
        layout.k_norm = qk_norm_layout(shape, shape.kv_heads)
    end
    if shape.block then
        layout.norm = norm_layout(shape.d_model, 1, shape.block.norm_bias) -- each of the block's
        layout.norms = block_rules.norms(shape.block)
        layout.scales = block_rules.scales(shape.block)
    end
    return layout
end

-- Row counts of the tiles that are written, falling: any number of rows is cut greedily into these.
local function row_counts(largest)
    local counts = {}
    for rows = largest, 1, -1 do
        if rows == largest or rows & (rows - 1) == 0 then
            counts[#counts + 1] = rows
        end
    end
    return counts
end

local function largest_divisor(n, limit)
    for divisor = math.min(n, limit), 1, -1 do
        if n % divisor == 0 then
            return divisor
        end
    end
end

-- The tile with the most sums of at most so many rows, whose vectors divide those of a key tile and
-- fit the registers, a vector of each sum, of keys and of a broadcast; of equals the widest.
local function largest_tile(most_rows, tile_vectors, registers)
    local best = { rows = 1, vectors = largest_divisor(tile_vectors, registers - 3) }
    for rows = 2, math.min(most_rows, registers - 2) do
        local vectors = largest_divisor(tile_vectors, math.max(1, (registers - 1) // (rows + 1)))
        local sums, most = rows * vectors, best.rows * best.vectors
        if sums > most or sums == most and vectors > best.vectors then
            best = { rows = rows, vectors = vectors }
        end
    end
    return best
end

-- How many steps of head_dim one loop body holds: as many as the decoded-instruction cache keeps
-- (about 500 instructions; a longer body measured 3 to 15 % slower), a divisor of head_dim if there
-- is a good one, else 8 and a remainder. Plain C has a long fma where the machine has none.
local function unroll_of(shape, lanes, rows, vectors)
    if shape.unroll ~= "full" then
        return math.min(shape.unroll, shape.head_dim)
    end
    local limit = lanes == 1 and 4 or math.max(8, 500 // (rows * vectors + rows + vectors))
    local divisor = largest_divisor(shape.head_dim, limit)
    if divisor < 4 and shape.head_dim > limit then
        return math.min(8, limit)
    end
    return divisor
end

-- Keys of a score tile must fill key tiles exactly, or lie exactly within one.
local function check_tile(own, isa)
    local vectors = own.score_vectors or isa.tiles.score_vectors
    local keys = vectors * isa.lanes
    local fits = keys <= plan.KEY_TILE and plan.KEY_TILE % keys == 0
        or keys % plan.KEY_TILE == 0 and plan.BLOCK % keys == 0
    if not fits then
        local message = ("= %d: %d lanes of %s make %d keys; right is a number that divides %d "
            .. "keys, or a multiple of it that divides %d"):format(vectors, isa.lanes, isa.id,
            keys, plan.KEY_TILE, plan.BLOCK)
        if not own.score_vectors then
            error(("templates/isa: set '%s' has tiles.score_vectors %s"):format(isa.id, message), 0)
        end
        error({ field = "tile.score_vectors", message = "field 'tile.score_vectors' " .. message })
    end
end

function plan.make(shape, isa)
    local layout, base, own = plan.layout(shape), isa.tiles, shape.tile or {}
    check_tile(own, isa)
    local p = { reasons = {} }
    local function choose(field, value, why)
        if own[field] then
            value, why = own[field], "given by the spec"
        end
        p[field] = value
        p.reasons[#p.reasons + 1] = { field = field, value = value, why = why }
    end

    local tile_vectors = plan.KEY_TILE // isa.lanes
    choose("score_rows", base.score_rows, "with the vectors: enough sums to hide the FMA latency")
    choose("score_vectors", base.score_vectors, "one broadcast of q serves so many vectors")
    choose("value_vectors",
        math.max(1, math.min(base.value_vectors, base.accumulators // p.score_rows)),
        "two or more vectors a row share one broadcast; rows times vectors fit the registers")
    choose("project_rows", base.project_rows, "rows times a panel's vectors fill the registers")
    local big = layout.head_floats * 4 > 1 << 20
    choose("query_rows", math.max(p.score_rows * (big and 20 or 8), math.min(layout.group, 128)),
        "rows that share each block of keys: more where all keys do not fit L2")
    local step = math.max(plan.KEY_TILE, p.score_vectors * isa.lanes)
    choose("score_keys",
        math.min(plan.BLOCK, math.max(1, (16 << 10) // (shape.head_dim * 4 * step)) * step),
        "keys that all rows take before the next ones: half of a small first-level cache")
    if p.score_keys % step ~= 0 then
        local message = "field 'tile.score_keys' = %d: right is a multiple of %d, the keys that a "
            .. "score tile of %s takes"
        error({ field = "tile.score_keys", message = message:format(p.score_keys, step, isa.id) })
    end
    if not shape.values_in_keys then
        choose("value_keys", 64,
            "in decode, keys whose values all tiles take before the next ones")
    end
    if shape.mask and p.value_keys and p.value_keys % 32 ~= 0 then
        local message = "field 'tile.value_keys' = %d: right, with a mask, is a multiple of 32"
        error({ field = "tile.value_keys", message = message:format(p.value_keys) })
    end

    -- Each row count has a wide tile, and a narrow one that stays within one key tile: for the
    -- last keys. A group of heads that is no such count gets a block of its own for decode.
    p.rows, p.decode_only, p.wide, p.narrow = row_counts(p.score_rows), {}, {}, {}
    local most = math.max(base.accumulators, isa.registers * 2 // 3)
    for _, count in ipairs(p.rows) do
        p.narrow[count] = largest_divisor(tile_vectors, math.max(1, most // count))
        p.wide[count] = p.score_vectors > tile_vectors and p.score_vectors or p.narrow[count]
    end
    if p.score_vectors <= tile_vectors then
        p.wide[p.score_rows], p.narrow[p.score_rows] = p.score_vectors, p.score_vectors
    end
    if not p.wide[layout.group] and layout.group <= plan.MAX_DECODE_ROWS then
        p.decode_only[layout.group] = true
        p.rows[#p.rows + 1] = layout.group
        table.sort(p.rows, function(a, b)
            return a > b
        end)
    end

    -- Where no other rows read the same keys (decode), they must be read in one forward stream:
    -- all rows take a key tile, and some keys' values, before the next ones. Rows that do not fit
    -- the registers with a whole key tile are cut into parts, whose later ones find it in L1.
    p.alone_score, p.alone_value = {}, {}
    for _, count in ipairs(p.rows) do
        p.alone_score[count], p.alone_value[count] = {}, {}
        local left = count
        while left > 0 do
            local part = largest_tile(left, tile_vectors, isa.registers)
            table.insert(p.alone_score[count], part)
            left = left - part.rows
        end
        for first = 0, count - 1, p.score_rows do
            table.insert(p.alone_value[count], math.min(p.score_rows, count - first))
        end
    end
    p.project_counts = row_counts(p.project_rows)
    p.project_vectors = {}
    for _, count in ipairs(p.project_counts) do
        local fits = math.min(base.row_vectors or base.accumulators, base.accumulators // count)
        p.project_vectors[count] = largest_divisor(plan.PANEL // isa.lanes, math.max(1, fits))
    end
    choose("unroll", unroll_of(shape, isa.lanes, p.score_rows, p.score_vectors),
        shape.unroll ~= "full" and "given by the spec, at most head_dim"
            or "steps of head_dim in one loop body: within the decoded-instruction cache")
    local sums = p.score_rows * p.score_vectors
    if p.unroll * sums > plan.MAX_BODY then
        local message = "field 'unroll' = %d: with %d x %d sums of a score tile of %s, one loop "
            .. "body has %d multiply-adds; right is at most %d"
        error({ field = "unroll", message = message:format(p.unroll, p.score_rows,
            p.score_vectors, isa.id, p.unroll * sums, plan.MAX_BODY // sums) })
    end

    -- bytes of one worker's scratch, every array on a cache line
    local function line(floats)
        return ceil_to(floats, 16)
    end
    p.query_stride = line(shape.head_dim)
    -- vectors of a value tile of so many rows, in a panel of so many vectors: as few tiles as the
    -- registers allow, a vector of each and a broadcast besides, alike in width
    function p.value_tile(rows, panel_vectors)
        local fits = rows == 1 and isa.registers - 3 or (isa.registers - 2) // (rows + 1)
        if own.value_vectors or rows == p.score_rows then
            fits = math.min(fits, p.value_vectors)
        end
        if base.row_vectors then
            fits = math.min(fits, base.row_vectors, base.accumulators // rows)
        end
        fits = math.max(1, fits)
        local tiles = (panel_vectors + fits - 1) // fits
        return (panel_vectors + tiles - 1) // tiles
    end
    local largest = math.max(p.query_rows, p.rows[1])
    p.scratch = { q = 0, rows = largest }
    p.scratch.o = p.scratch.q + largest * p.query_stride
    p.scratch.l = p.scratch.o + largest * layout.value_width
    p.scratch.m = p.scratch.l + largest * 16
    p.scratch.decay = p.scratch.m + line(largest)
    p.scratch.s = p.scratch.decay + line(largest)
    p.scratch.floats = p.scratch.s + largest * plan.SCORE_STRIDE
    if shape.relative_bias then
        -- for each head of a group, the biases of a block's keys as all rows of it see them
        p.relative_line = line(plan.BLOCK + (largest + layout.group - 1) // layout.group)
        p.scratch.relative = p.scratch.floats
        p.scratch.floats = p.scratch.relative + layout.group * p.relative_line
    end
    if shape.mask then
        -- which keys of a block each row sees, a bit each; whether the mask hides some of them;
        -- whether the row saw any
        p.scratch.seen = p.scratch.floats
        p.scratch.hides = p.scratch.seen + largest * plan.BLOCK // 32
        p.scratch.any = p.scratch.hides + line(largest)
        p.scratch.floats = p.scratch.any + line(largest)
    end
    if shape.values_in_keys then
        p.scratch.v = p.scratch.floats
        p.scratch.floats = p.scratch.v + plan.BLOCK * plan.KEY_TILE
    end
    return p
end

local function panel_floats(columns, depth, bias)
    return (columns + plan.PANEL - 1) // plan.PANEL * plan.PANEL * (depth + (bias and 1 or 0))
end

--- Whether scores have biases, which make weights of every size.
function plan.biased(shape)
    return shape.alibi ~= nil or shape.relative_bias ~= nil
        or shape.mask ~= nil and shape.mask.type == "bias"
end

-- What a layer has among its weights besides: behind the `floats` of w, each at its own name.
local function place_extras(shape, w)
    for _, extra in ipairs(arguments.packed(shape)) do
        w[extra.name] = w.floats
        w.floats = w.floats + ceil_to(extra.floats, plan.ALIGN // 4)
    end
end

local function count_extras(shape, parameters)
    for _, extra in ipairs(arguments.packed(shape)) do
        parameters[extra.name] = extra.floats
        parameters.total = parameters.total + extra.floats
    end
end

--- A layer with mla. step: rows that it takes at a time; latent_step: of the latent form, whose
-- queries are wide. weights: `matrices` (mla.matrices, each with its `offset` and the floats from
-- one head to the next, `stride`), the norms' offsets, `floats`. rows: offsets of the parts of the
-- scratch, behind the keys and values of the expanded form; what that form needs, what the latent
-- one does, and a block's inner values lie in the same place. floats: all of it. expanded,
-- expanded_layout: the expanded form's shape.
function plan.mla_layer(shape)
    local own, heads = shape.mla, shape.heads
    local layer = { weights = { matrices = {} }, rows = {} }
    local w, offset = layer.weights, 0
    for _, matrix in ipairs(mla.matrices(shape)) do
        matrix.offset = offset
        matrix.stride = panel_floats(matrix.columns, matrix.depth, matrix.bias)
        offset = offset + matrix.heads * matrix.stride
        w.matrices[matrix.name] = matrix
    end
    w.kv_norm = offset
    w.q_norm = w.kv_norm + ceil_to(own.kv_rank, plan.VALUE_PAD)
    w.floats = ceil_to(w.q_norm + ceil_to(own.q_rank or 0, plan.VALUE_PAD), plan.ALIGN // 4)
    place_extras(shape, w)

    layer.expanded = mla.expanded(shape)
    layer.expanded_layout = plan.layout(layer.expanded)
    layer.step, layer.latent_step = math.min(shape.capacity, 240), math.min(shape.capacity, 120)
    local latent, position = mla.on_cache(shape), heads * layer.expanded_layout.head_floats
    local function rows(name, floats, step)
        layer.rows[name] = position
        position = position + ceil_to((step or layer.step) * floats, 16)
    end
    rows("q_a", own.q_rank or 0)
    rows("kv_a", latent.head_dim)
    rows("q", heads * shape.head_dim)
    rows("o", heads * shape.v_head_dim)
    local shared = position
    rows("k", heads * shape.head_dim)
    rows("v", heads * shape.v_head_dim)
    local expanded_end = position
    position = shared
    rows("latent_q", heads * latent.head_dim, layer.latent_step)
    rows("latent_o", heads * latent.v_head_dim, layer.latent_step)
    position = math.max(position, expanded_end)
    if shape.block then
        layer.rows.inner = layer.rows.q_a -- in the place of all of them
        position = math.max(position,
            layer.rows.inner + ceil_to(layer.step * shape.block.ffn, 16))
        rows("normed", shape.d_model)
        rows("part", shape.d_model)
    end
    layer.floats = position
    return layer
end

--- What sets the attention apart, in words that follow others: ", causal, window 128, sinks".
function plan.features(shape)
    local text = shape.causal and ", causal" or ""
    if shape.cross then
        text = (", to a source of up to %d positions"):format(shape.cross.max_seq)
    end
    if shape.window > 0 then
        text = ("%s, window %d"):format(text, shape.window)
    end
    if shape.window_right > 0 then
        text = ("%s, %d to the right"):format(text, shape.window_right)
    end
    if shape.key_range then
        text = text .. ", a range of keys given"
    end
    if plan.layout(shape).cache.ring then
        text = text .. ", ring cache"
    end
    if shape.softcap then
        text = ("%s, soft cap %.9g"):format(text, shape.softcap)
    end
    text = text .. (shape.alibi and ", ALiBi" or "")
        .. (shape.relative_bias and ", relative biases" or "") .. (shape.sinks and ", sinks" or "")
        .. (shape.lse and ", log-sum-exp" or "")
    if shape.mask then
        text = text .. (shape.mask.type == "bool" and ", masks given"
            or shape.mask.heads == "each" and ", biases given for each head" or ", biases given")
    end
    return text
end

-- Pairs of query and key that see each other among n positions, and keys that the last one sees.
local function pairs_visible(shape, layout, n)
    if shape.cross then
        return n * layout.keys, layout.keys
    end
    local function sum_to(count) -- of min(i, count) for i = 1 .. n
        count = math.min(count, n)
        return count * (count + 1) // 2 + (n - count) * count
    end
    local before = sum_to(shape.window > 0 and shape.window or n) -- the own key counts
    local after = sum_to(layout.reach or n)
    return before + after - n, shape.window > 0 and math.min(shape.window, n) or n
end

-- What a block has beside the layer: the feed-forward's matrices and biases, norms, layer scales.
local function add_block(memory, shape, layout)
    local block, parameters = shape.block, memory.parameters
    local inner = block.gated and 2 or 1 -- matrices from x to the inner width
    local scales = #layout.scales * shape.d_model
    parameters.ffn = (inner + 1) * block.ffn * shape.d_model
    parameters.ffn_bias = block.bias and inner * block.ffn + shape.d_model or 0
    parameters.block_norm = #layout.norms * layout.norm.parameters
    parameters.layer_scale = scales > 0 and scales or nil
    parameters.total = parameters.total + parameters.ffn + parameters.ffn_bias
        + parameters.block_norm + scales
end

-- Packed weights of the block, after those of the layer: a head of its own, norms, layer scales,
-- the panels of the feed-forward. Floats from the layer's first one on; and bytes of all.
local function block_offsets(shape, layout, floats)
    local block, at = shape.block, {}
    floats = floats + plan.ALIGN // 4
    for _, name in ipairs(layout.norms) do
        at[name] = floats
        floats = floats + layout.norm.floats
    end
    for _, name in ipairs(layout.scales) do
        at[name] = floats
        floats = floats + layout.norm.stride
    end
    at.up = floats
    at.down = at.up + (block.gated and 2 or 1)
        * panel_floats(block.ffn, shape.d_model, block.bias)
    floats = at.down + panel_floats(shape.d_model, block.ffn, block.bias)
    return at, plan.ALIGN + floats * 4
end

-- Costs of a layer with mla, likewise.
local function mla_costs(shape, layout, memory)
    local parameters, layer = mla.parameters(shape), plan.mla_layer(shape)
    memory.parameters = { projections = parameters.projections, bias = parameters.bias,
        norm = parameters.norm,
        total = parameters.projections + parameters.bias + parameters.norm }
    count_extras(shape, memory.parameters)
    memory.layer_bytes = layer.floats * 4
    memory.weight_offsets = layer.weights
    memory.weights_bytes = plan.ALIGN + layer.weights.floats * 4
    if shape.block then
        add_block(memory, shape, layout)
        memory.block_offsets, memory.block_weights_bytes =
            block_offsets(shape, layout, layer.weights.floats)
    end

    -- Both forms multiply with kv_b_proj once a row: it makes keys and values, or q' and outputs.
    local n, latent = shape.capacity, mla.on_cache(shape)
    local early = layer.expanded.capacity
    local pairs_seen, most_seen = pairs_visible(shape, plan.layout(latent), n)
    local expanded_pairs = pairs_visible(shape, layer.expanded_layout, early)
    local per_pair = 2 * shape.heads * (shape.head_dim + shape.v_head_dim)
    local per_latent_pair = 2 * shape.heads * (latent.head_dim + latent.v_head_dim)
    local per_row = 2 * (parameters.projections + (memory.parameters.ffn or 0))
    memory.flops_prefill = per_pair * expanded_pairs
        + per_latent_pair * (pairs_seen - expanded_pairs) + per_row * n
    memory.flops_decode = per_latent_pair * most_seen + per_row
end

function plan.memory(shape)
    local cached, memory = mla.on_cache(shape), {}
    local layout = plan.layout(cached)
    memory.thread_bytes = 0
    for _, id in ipairs(shape.isa) do
        for _, form in ipairs { shape, cached } do
            local floats = plan.make(form, isas.get(id)).scratch.floats
            memory.thread_bytes = math.max(memory.thread_bytes, floats * 4)
        end
    end
    if shape.block and shape.block.gated then -- a panel of the gate, while up is computed
        local rows = shape.mla and plan.mla_layer(shape).step or layout.layer_rows
        memory.thread_bytes = math.max(memory.thread_bytes, rows * plan.PANEL * 4)
    end
    memory.cache_bytes = layout.cache_bytes
    memory.kv_bytes_per_token = cached.kv_heads * (cached.head_dim + layout.stored_values) * 4
    memory.head_bytes = layout.head_floats * 4
    memory.all_heads_bytes = cached.kv_heads * memory.head_bytes
    if shape.mla then
        mla_costs(shape, layout, memory)
        memory.scratch_bytes = memory.layer_bytes + memory.thread_bytes + memory.all_heads_bytes
        memory.cache_scratch_bytes = memory.layer_bytes + memory.thread_bytes
        return memory
    end

    local wq, wk = layout.q_width * shape.d_model, layout.k_width * layout.source_width
    local wv, wo = layout.v_width * layout.source_width, layout.o_width * shape.d_model
    local bias = 0
    if shape.qkv_bias then
        bias = bias + layout.q_width + layout.k_width + layout.v_width
    end
    if shape.o_bias then
        bias = bias + shape.d_model
    end
    memory.parameters = { wq = wq, wk = wk, wv = wv, wo = wo, bias = bias,
        total = wq + wk + wv + wo + bias }
    count_extras(shape, memory.parameters)
    if shape.qk_norm then
        local norm = layout.q_norm.parameters + layout.k_norm.parameters
        memory.parameters.norm, memory.parameters.total = norm, memory.parameters.total + norm
    end

    local layer, block = shape.emit ~= "attention", shape.block
    if block then
        add_block(memory, shape, layout)
    end
    memory.layer_bytes = 0
    memory.weights_bytes = 0
    if layer then
        -- q, k, v and the attention's output of one chunk of rows; in a block the feed-forward's
        -- inner values take their place, and behind them are a part's input and its output
        local row = layout.inner_width + (block and 2 * shape.d_model or 0)
        memory.layer_bytes = ceil_to(layout.layer_rows * row * 4, plan.ALIGN)
        local w = { wq = 0 }
        w.wk = w.wq + panel_floats(layout.q_width, shape.d_model, shape.qkv_bias)
        w.wv = w.wk + panel_floats(layout.k_width, layout.source_width, shape.qkv_bias)
        w.wo = w.wv + panel_floats(layout.v_width, layout.source_width, shape.qkv_bias)
        w.floats = w.wo + panel_floats(shape.d_model, layout.o_width, shape.o_bias)
        if shape.qk_norm then
            w.q_norm = w.floats
            w.k_norm = w.q_norm + layout.q_norm.floats
            w.floats = w.k_norm + layout.k_norm.floats
        end
        place_extras(shape, w)
        memory.weight_offsets = w
        memory.weights_bytes = plan.ALIGN + w.floats * 4
        if block then
            memory.block_offsets, memory.block_weights_bytes =
                block_offsets(shape, layout, w.floats)
        end
    end
    -- Without a cache the packed keys and values lie in scratch: one KV head's at a time where a
    -- single thread can, all heads' where threads share them or the layer makes them.
    memory.scratch_bytes = memory.layer_bytes + memory.thread_bytes
        + (layer and memory.all_heads_bytes or memory.head_bytes)
    memory.cache_scratch_bytes = memory.layer_bytes + memory.thread_bytes

    -- Multiplications and additions of the definition; masked scores do not count.
    local n = shape.capacity
    local pairs_seen, most_seen = pairs_visible(shape, layout, n)
    local per_pair = 2 * shape.heads * (shape.head_dim + shape.v_head_dim)
    local own = layer and 2 * (wq + wo + (memory.parameters.ffn or 0)) or 0
    local source = layer and 2 * (wk + wv) or 0
    memory.flops_prefill = per_pair * pairs_seen + own * n + source * layout.keys
    memory.flops_decode = per_pair * most_seen + own + (shape.cross and 0 or source)
    return memory
end

return plan
