--- Relative biases by buckets of distance (Raffel et al., Exploring the Limits of Transfer Learning
-- with a Unified Text-to-Text Transformer, 2020), as the models' code has them.
--
-- relative.buckets(it) -> the buckets of the distances 0, 1, ... max_distance to the left, as
--   integers; greater distances have the last one. With it.bidirectional the keys to the right have
--   as many buckets of their own, behind those; else they all have bucket 0.
-- relative.side(it)    -> buckets of a direction
local series = require "series"

local relative = {}

function relative.side(it)
    return it.bidirectional and it.buckets // 2 or it.buckets
end

function relative.buckets(it)
    local side, list = relative.side(it), {}
    local exact = side // 2 -- distances with a bucket each; the others' grow by a constant factor
    local per_log = (side - exact) / series.ln(it.max_distance / exact)
    for distance = 0, it.max_distance do
        local bucket = distance
        if distance >= exact then
            -- a power of the factor is whole but for rounding
            bucket = exact + math.floor(series.ln(distance / exact) * per_log + 1e-9)
        end
        list[distance + 1] = math.min(bucket, side - 1)
    end
    return list
end

return relative
