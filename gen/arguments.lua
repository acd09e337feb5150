--- What a kernel's calls take besides, for the features of its spec that come with data: one row
-- an argument, in the order in which they stand in the calls, before `out` and `y`.
--
-- arguments.of(shape) -> array of
--   name, type   of the parameter in C, and of the field of a call's struct
--   dims         its shape, for comments: "[12]"
--   about        or what else there is to say of it; `{columns}` and `{least}` are the keys of a
--                row, and how many: arguments.about
--   required     whether NULL is refused
--   stride_of    the argument whose rows it keeps apart: at least as many columns, or RANGE
--   none         the C text that asks for nothing
--   row_step     the argument by which this one goes on from query to query
--   layer        what a layer does: "weights": it has it among its packed weights, `floats` of
--                them; "call": its call takes it too; nil: it has no use for it
-- arguments.packed(shape), arguments.of_layer(shape) -> those among a layer's weights, and those
--   that its call takes
-- arguments.about(row, on) -> what there is to say of it, or nil, where it is an argument of a call
--   on q, k and v ("call"), on a cache ("cache") or of a layer ("layer")
-- arguments.declaration(row) -> C text
-- arguments.parameters(list), arguments.names(list) -> C texts, each with a comma and a blank
--   behind it
-- Header, dispatcher, packed weights, selftest and the suite (tests/describe.inc) follow it.
local arguments = {}

-- What the columns of masks and biases are, and how many there are at least, in each kind of call.
local function keys_of(shape)
    local call = { columns = "of its n_kv keys", least = "n_kv" }
    if shape.cross then
        local source = { columns = "column j is of position j of the source",
            least = "the positions of the source" }
        return { call = call, cache = source, layer = source }
    end
    local columns = "column j is of the key at position j"
        .. (shape.cache == "ring" and " (overwritten ones are not read)" or "")
    return {
        call = call,
        cache = { columns = columns, least = "the positions from 0 to the last one written" },
        layer = { columns = columns, least = "pos + n" },
    }
end

local rows = {
    function(shape)
        return shape.sinks and {
            name = "sinks", type = "const float *", dims = ("[%d]"):format(shape.heads),
            required = true, layer = "weights", floats = shape.heads,
        }
    end,
    function(shape)
        local it = shape.relative_bias
        return it and {
            name = "relative_bias", type = "const float *",
            dims = ("[%d buckets][%d]"):format(it.buckets, shape.heads),
            required = true, layer = "weights", floats = it.buckets * shape.heads,
        }
    end,
    function(shape)
        return shape.mask and shape.mask.type == "bool" and {
            name = "mask", type = "const unsigned char *", dims = "[n_q][mask_stride]",
            about = "row i is query i's, {columns}; 0 hides a key. NULL: none is hidden",
            none = "NULL",
            layer = "call", row_step = "mask_stride", keys = keys_of(shape),
        }
    end,
    function(shape)
        return shape.mask and shape.mask.type == "bias" and {
            name = "bias", type = "const float *", dims = shape.mask.heads == "each"
                and ("[%d heads] of [n_q][bias_stride]"):format(shape.heads)
                or "[n_q][bias_stride]",
            about = "row i is query i's, {columns}. NULL: none", none = "NULL",
            layer = "call", row_step = "bias_stride", keys = keys_of(shape),
        }
    end,
    function(shape)
        local of = shape.mask and (shape.mask.type == "bool" and "mask" or "bias")
        return of and {
            name = of .. "_stride", type = "size_t", layer = "call", stride_of = of,
            keys = keys_of(shape),
            about = "from one query's row to the next: at least {least}, or RANGE",
        }
    end,
    function(shape)
        return shape.mask and shape.mask.heads == "each" and {
            name = "bias_head_stride", type = "size_t", layer = "call",
            about = "from one head's to the next",
        }
    end,
    function(shape)
        return shape.key_range and {
            name = "first_key", type = "size_t", layer = "call", none = "0",
            about = "the first key that any query sees",
        }
    end,
    function(shape)
        return shape.key_range and {
            name = "end_key", type = "size_t", layer = "call", none = "SIZE_MAX",
            about = "the one after the last; more than there are: up to the last",
        }
    end,
    function(shape)
        return shape.lse and {
            name = "lse", type = "float *", dims = ("[queries][%d]"):format(shape.heads),
            about = "an output; overlaps nothing else; NULL: not wanted", none = "NULL",
        }
    end,
}

function arguments.of(shape)
    local list = {}
    for _, row in ipairs(rows) do
        list[#list + 1] = row(shape) or nil
    end
    return list
end

local function joined(list, text_of)
    local texts = {}
    for index, row in ipairs(list) do
        texts[index] = text_of(row) .. ", "
    end
    return table.concat(texts)
end

function arguments.about(row, on)
    return row.about and (row.about:gsub("{(%l+)}", row.keys and row.keys[on] or {}))
end

-- `const float *sinks`, `size_t stride`
function arguments.declaration(row)
    return row.type .. (row.type:find("%*$") and "" or " ") .. row.name
end

function arguments.parameters(list)
    return joined(list, arguments.declaration)
end

function arguments.names(list)
    return joined(list, function(row)
        return row.name
    end)
end

local function only(list, how)
    local some = {}
    for _, row in ipairs(list) do
        some[#some + 1] = row.layer == how and row or nil
    end
    return some
end

function arguments.packed(shape)
    return only(arguments.of(shape), "weights")
end

function arguments.of_layer(shape)
    return only(arguments.of(shape), "call")
end

return arguments
