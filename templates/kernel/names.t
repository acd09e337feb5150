$ -- Names that the templates of one instruction set's kernels share (gen/emit.lua has their order).
$ --
$ -- Every reduction is one chain in index order and lanes run over outputs: that is what makes the
$ -- bits equal on every instruction set (docs/design.md, "Numerics").
$ W, BLOCK, TILE, STRIDE = isa.lanes, plan.BLOCK, plan.KEY_TILE, plan.SCORE_STRIDE
$ hd, dv, group = shape.head_dim, shape.v_head_dim, layout.group
$ sums = 16 // W -- vectors that hold the 16 partial sums of the softmax
$ vec = isa.vector
$ factor = isa.factor or vec -- of the tiles: what one float of a row is multiplied as
$ function at(base, offset) -- a pointer's text
$   return offset == 0 and base or ("%s + %d"):format(base, offset)
$ end
$ -- Tiles that read memory from afar have the cache fetch what follows, some lines with each step:
$ -- `next` is an address, since it may lie past the end of what is there.
$ function ahead_parameter(lines) return lines and ", uintptr_t next" or "" end
$ function ahead_argument(lines, base, floats)
$   return lines and (", (uintptr_t)(%s) + %d"):format(base, floats * 4) or ""
$ end
$ function each(n, item) -- "a0, a1, a2": item(0), item(1), ...
$   local list = {}
$   for i = 0, n - 1 do list[#list + 1] = item(i) end
$   return table.concat(list, ", ")
$ end
$ -- Which keys of a block a row sees: from[r] .. limit[r] - 1; without a window or a range `from` is nowhere.
$ ranged = shape.key_range -- by the caller
$ windowed = shape.window > 0 or ranged
$ ring = layout.cache.ring or false -- blocks of a ring cache, which `call->ring` tells from others
$ reach = layout.reach -- a query at position i sees keys up to i + reach - 1; nil: all
$ limits_parameter = windowed and "const int *from, const int *limit" or "const int *limit"
$ function limits_argument(offset) -- the text of an index into them, with its operator
$   return windowed and ("from%s, limit%s"):format(offset, offset) or "limit" .. offset
$ end
$ -- Where the caller hides keys, `seen` has a bit for each key of a block, [rows][WORDS]: 1 if the row
$ -- sees it, by limits and mask.
$ masked = shape.mask
$ biased = masked and shape.mask.type == "bias"
$ WORDS = BLOCK // 32
$ -- what a value tile goes by
$ keys_parameter = masked and "const uint32_t *seen, int keys" or limits_parameter
$ -- Whether scores are changed before the softmax takes them: soft cap, biases, mask.
$ adjusts = shape.softcap or shape.alibi or shape.relative_bias or masked
$ place_parameter = adjusts and (masked and ", %s_place *place" or ", const %s_place *place"):format(id) or ""
$ place_argument = adjusts and ", place" or ""
