--- What a kernel's calls take besides, for the features of its spec that come with data: one row
-- an argument, in the order in which they stand in the calls, before `out` and `y`.
--
-- arguments.of(shape) -> array of
--   name, type   of the parameter in C, and of the field of a call's struct
--   dims         its shape, for comments: "[12]"
--   about        or what else there is to say of it
--   required     whether NULL is refused
--   layer        what a layer does: "weights": it has it among its packed weights, `floats` of
--                them; "call": its call takes it too; nil: it has no use for it
-- arguments.packed(shape), arguments.of_layer(shape) -> those among a layer's weights, and those
--   that its call takes
-- arguments.declaration(row) -> C text
-- arguments.parameters(list), arguments.names(list) -> C texts, each with a comma and a blank
--   behind it
-- Header, dispatcher, packed weights, selftest and the suite (tests/describe.inc) follow it.
local arguments = {}

local rows = {
    function(shape)
        return shape.sinks and {
            name = "sinks", type = "const float *", dims = ("[%d]"):format(shape.heads),
            required = true, layer = "weights", floats = shape.heads,
        }
    end,
    function(shape)
        return shape.lse and {
            name = "lse", type = "float *", dims = ("[queries][%d]"):format(shape.heads),
            about = "an output; overlaps nothing else; NULL: not wanted",
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
