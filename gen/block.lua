--- What is known of the transformer block beside the attention layer within it.
--
-- block.places, block.acts       the values that the spec's fields take
-- block.complete(given, refuse)  -> the block with every field set (parallel_norms, unit_offset,
--     norm_bias, gated, bias and residual_multiplier are nil where they say nothing).
--     refuse(field, text) raises what is wrong.
-- block.norms(block)             -> its norms in the order of the weights, by what they norm
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
    return it.parallel_norms == 2 and two_parallel or norms_of[it.place]
end

local required = {
    { "norm", '"layernorm" or "rmsnorm"' },
    { "ffn", "the feed-forward's width" },
    { "act", '"' .. table.concat(block.acts, '" or "') .. '"' },
}

function block.complete(given, refuse)
    for _, each in ipairs(required) do
        if given[each[1]] == nil then
            refuse(each[1], "missing; it takes " .. each[2])
        end
    end
    local place, layernorm = given.place or "pre", given.norm == "layernorm"
    if given.parallel_norms and place ~= "parallel" then
        refuse("parallel_norms", ('only place = "parallel" has a choice; place is "%s"'):format(
            place))
    end
    local norm_bias = given.norm_bias
    if norm_bias == nil then
        norm_bias = layernorm
    end
    return {
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
        residual_multiplier = given.residual_multiplier ~= 1 and given.residual_multiplier or nil,
    }
end

return block
