--- Latent attention: keys and values from a latent of low rank (DeepSeek-V2, 2024).
--
-- x gives each position a latent c of kv_rank channels, normed, and rope_dim channels of k that
-- turn and that all heads share. A head's key is [Wkb c, k_pe], its value Wvb c. The same attention
-- has two forms, of two shapes:
--   expanded   as written: keys of nope_dim + rope_dim and values of v_head_dim for each head
--   latent     with Wkb on the side of q: q' = [Wkb^T q_nope, q_pe] meets [c, k_pe], which is one
--              KV head of kv_rank + rope_dim, whose values are its own first kv_rank channels
--
-- mla.complete(shape, refuse)  -> shape.mla with its defaults; sets what shape has by it
-- mla.fits(shape, refuse)      checks the finished shape against it
-- mla.on_cache(shape)          -> the shape of the attention on the cache: the latent form, or the
--     shape itself without mla. All fields but kv_heads, head_dim, v_head_dim and values_in_keys
--     are those of the shape
-- mla.expanded(shape)          -> the shape of the expanded form, as long as a prompt has it;
--     without a ring and log-sum-exps, which are the cache's and the attention calls' alone
-- mla.matrices(shape)          -> what a layer multiplies with, in the order of packed weights:
--     array of {name, columns, depth, bias, heads = matrices of that kind, one after the other}
-- mla.products(shape)          -> the products of a layer: array of {name, matrix, depth, bias,
--     x and y = what they are in words, x_stride, y_stride = floats from row to row, x_head,
--     y_head = floats from one head's to the next one's, kernel = the first product alike}
-- mla.parameters(shape)        -> numbers of a layer: {projections, bias, norm}
local mla = {}

--- refuse(path, value, text) raises an error.
function mla.complete(shape, refuse)
    local given = shape.mla
    for _, name in ipairs { "kv_rank", "nope_dim", "rope_dim" } do
        if not given[name] then
            refuse("mla." .. name, nil, "missing; mla needs it, a whole number of channels")
        end
    end
    local head_dim = given.nope_dim + given.rope_dim
    if shape.head_dim and shape.head_dim ~= head_dim then
        refuse("head_dim", shape.head_dim, ("not mla's nope_dim + rope_dim = %d; leave it out")
            :format(head_dim))
    elseif head_dim > 1024 or given.kv_rank + given.rope_dim > 1024 then
        local name = head_dim > 1024 and "nope_dim" or "kv_rank"
        refuse("mla." .. name, given[name], ("with rope_dim = %d more than 1024 channels of a head")
            :format(given.rope_dim))
    elseif given.rope_dim % 2 ~= 0 then
        refuse("mla.rope_dim", given.rope_dim, "odd; rotary positions turn pairs of channels")
    end
    shape.head_dim = head_dim
    return { kv_rank = given.kv_rank, q_rank = given.q_rank, nope_dim = given.nope_dim,
        rope_dim = given.rope_dim, eps = given.eps or 1e-6, expand = given.expand or 2048 }
end

function mla.fits(shape, refuse)
    local rope = shape.rope
    if shape.emit == "attention" then
        refuse("emit", shape.emit, 'mla is a way to project; it takes "layer"')
    elseif not shape.causal then
        refuse("causal", shape.causal, "mla needs causal = true: a prompt's keys are expanded "
            .. "from its start on")
    elseif shape.kv_heads ~= shape.heads then
        refuse("kv_heads", shape.kv_heads, ("mla has a key and a value for each of its heads = %d; "
            .. "leave it out"):format(shape.heads))
    elseif shape.qk_norm then
        refuse("qk_norm", shape.qk_norm, "mla norms its latents; leave it out")
    elseif shape.clip_qkv then
        refuse("clip_qkv", shape.clip_qkv, "mla's latent form has no keys and values of heads that "
            .. "could be clamped; leave it out")
    elseif not rope then
        refuse("rope", nil, "missing; mla turns rope_dim channels of q and k")
    elseif rope.rotary_dim ~= shape.mla.rope_dim then
        refuse("rope.rotary_dim", rope.rotary_dim, ("not mla.rope_dim = %d; leave it out"):format(
            shape.mla.rope_dim))
    elseif rope.scaling and rope.scaling.type == "proportional" then
        refuse("rope.scaling.type", rope.scaling.type, "its angles are those of a whole head, of "
            .. "which mla turns a part")
    end
end

local function changed(shape, fields)
    return setmetatable(fields, { __index = shape })
end

function mla.on_cache(shape)
    local own = shape.mla
    return own and changed(shape, { kv_heads = 1, head_dim = own.kv_rank + own.rope_dim,
        v_head_dim = own.kv_rank, values_in_keys = true }) or shape
end

function mla.expanded(shape)
    return changed(shape, { capacity = math.min(shape.capacity, shape.mla.expand),
        cache = "linear", lse = false })
end

function mla.matrices(shape)
    local own, d, list = shape.mla, shape.d_model, {}
    local function add(name, columns, depth, bias, heads)
        list[#list + 1] = { name = name, columns = columns, depth = depth, bias = bias or false,
            heads = heads or 1 }
    end
    if own.q_rank then
        add("q_a", own.q_rank, d, shape.qkv_bias)
    end
    add("q", shape.heads * shape.head_dim, own.q_rank or d)
    add("kv_a", own.kv_rank + own.rope_dim, d, shape.qkv_bias)
    add("k_b", own.nope_dim, own.kv_rank, false, shape.heads)
    add("absorb", own.kv_rank, own.nope_dim, false, shape.heads) -- k_b once more, transposed
    add("v_b", shape.v_head_dim, own.kv_rank, false, shape.heads)
    add("o", d, shape.heads * shape.v_head_dim, shape.o_bias)
    return list
end

function mla.products(shape)
    local own, heads, list = shape.mla, shape.heads, {}
    local matrices, latent = {}, own.kv_rank + own.rope_dim
    for _, matrix in ipairs(mla.matrices(shape)) do
        matrices[matrix.name] = matrix
    end
    local q_row, o_row = heads * shape.head_dim, heads * shape.v_head_dim
    local function add(name, x, x_stride, y, y_stride, of, x_head, y_head)
        local matrix, kernel = matrices[of or name], name
        local it = { name = name, matrix = of or name, depth = matrix.depth, bias = matrix.bias,
            x = x, x_stride = x_stride, x_head = x_head or 0, y = y, y_stride = y_stride,
            y_head = y_head or 0 }
        for _, other in ipairs(list) do
            if other.depth == it.depth and other.bias == it.bias and other.x_stride == x_stride
                and other.y_stride == y_stride then
                kernel = other.kernel
            end
        end
        it.kernel = kernel
        list[#list + 1] = it
    end
    local d, low = shape.d_model, own.q_rank
    if low then
        add("q_a", "rows of the layer", d, "latents of q", low)
    end
    add("q", low and "latents of q" or "rows of the layer", low or d, "q", q_row)
    add("kv_a", "rows of the layer", d, "[c, k_pe]", latent)
    add("k_b", "c", latent, "k of a head", q_row, nil, 0, shape.head_dim)
    add("v_b", "c", latent, "v of a head", o_row, nil, 0, shape.v_head_dim)
    add("absorb", "q of a head", q_row, "q' of a head", heads * latent, nil, shape.head_dim, latent)
    add("value", "sums of c of a head", heads * own.kv_rank, "output of a head", o_row, "v_b",
        own.kv_rank, shape.v_head_dim)
    add("o", "outputs of all heads", o_row, "rows of the layer", d)
    return list
end

function mla.parameters(shape)
    local own = shape.mla
    local total = { projections = 0, bias = 0, norm = own.kv_rank + (own.q_rank or 0) }
    for _, matrix in ipairs(mla.matrices(shape)) do
        if matrix.name ~= "absorb" then
            total.projections = total.projections + matrix.heads * matrix.columns * matrix.depth
            total.bias = total.bias + (matrix.bias and matrix.columns or 0)
        end
    end
    return total
end

return mla
