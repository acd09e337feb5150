--- What is known of the transformer block beside the attention layer within it.
--
-- block.places, block.acts       the values that the spec's fields take
-- block.complete(given, refuse)  -> the block with every field set (parallel_norms, unit_offset,
--     norm_bias, gated, bias, layer_scale and residual_multiplier are nil where they say nothing,
--     attention_norm but where it is false).
--     refuse(field, text) raises what is wrong.
--     A block with ffn = 0 is attention's part alone: it has no act.
-- block.norms(block)             -> its norms in the order of the weights, by what they norm
-- block.scales(block)            -> its layer scales likewise, by whose output they scale
local block = {}

block.acts = { "gelu", "gelu_tanh", "relu", "silu", "quick_gelu", "relu2" }

-- Where norms stand: of a part's input (attention_norm, ffn_norm), of its output or, with `post`,
-- of the sum with the residual (attention_post_norm, ffn_post_norm).
block.places = { "pre", "post", "sandwich", "res_post", "parallel" }
local norms_of = {
    pre = { "attention_norm", "ffn_norm" },
    post = { "attention_post_norm", "ffn_post_norm" },
    sandwich = { "attention_norm", "attention_post_norm", "ffn_norm", "ffn_post_norm" },
    res_post = { "attention_post_norm", "ffn_post_norm" },
    parallel = { "attention_norm" },
}
local two_parallel = { "attention_norm", "ffn_norm" }

function block.norms(it)
    local norms = {}
    for _, name in ipairs(it.parallel_norms == 2 and two_parallel or norms_of[it.place]) do
        local absent = it.ffn == 0 and name:find("^ffn")
            or it.attention_norm == false and name == "attention_norm"
        norms[#norms + 1] = not absent and name or nil
    end
    return norms
end

function block.scales(it)
    return it.layer_scale and { "attention_scale", it.ffn > 0 and "ffn_scale" or nil } or {}
end

local required = {
    { "norm", '"layernorm" or "rmsnorm"' },
    { "ffn", "the feed-forward's width, or 0 for none" },
    { "act", '"' .. table.concat(block.acts, '" or "') .. '"' },
}
local of_feed_forward = { "act", "gated", "bias" }

function block.complete(given, refuse)
    local none = given.ffn == 0 -- no feed-forward
    for _, each in ipairs(required) do
        if given[each[1]] == nil and not (none and each[1] == "act") then
            refuse(each[1], "missing; it takes " .. each[2])
        end
    end
    for _, name in ipairs(of_feed_forward) do
        if none and given[name] then
            refuse(name, "ffn = 0 stands for no feed-forward; leave it out")
        end
    end
    local place, layernorm = given.place or "pre", given.norm == "layernorm"
    if none and place == "parallel" then
        refuse("place", 'its feed-forward stands beside attention; with ffn = 0 it takes "pre"')
    elseif given.attention_norm == false and (none or place ~= "pre") then
        refuse("attention_norm", none and "with ffn = 0 there would be no norm at all; leave it out"
            or ('only place = "pre" can do without; place is "%s"'):format(place))
    elseif given.layer_scale and (given.residual_multiplier or 1) ~= 1 then
        refuse("residual_multiplier",
            "a layer scale multiplies too: multiply its factors, and leave this out")
    end
    if given.parallel_norms and place ~= "parallel" then
        refuse("parallel_norms", ('only place = "parallel" has a choice; place is "%s"'):format(
            place))
    end
    local norm_bias = given.norm_bias
    if norm_bias == nil then
        norm_bias = layernorm
    end
    local complete = {
        norm = given.norm,
        place = place,
        parallel_norms = given.parallel_norms == 2 and 2 or nil,
        eps = given.eps or layernorm and 1e-5 or 1e-6,
        unit_offset = given.unit_offset or nil,
        norm_bias = norm_bias,
        ffn = given.ffn,
        act = given.act,
        gated = given.gated or nil,
        bias = given.bias or nil,
        layer_scale = given.layer_scale or nil,
        residual_multiplier = given.residual_multiplier ~= 1 and given.residual_multiplier or nil,
    }
    if given.attention_norm == false then
        complete.attention_norm = false
    end
    return complete
end

return block
