$ -- The kernels of one instruction set, after its vocabulary (vocabulary.t). What the written C says,
$ -- in order: exp2, scores, softmax, values, the attention of some rows, packing, projections, rope.
$ --
$ -- Every reduction is one chain in index order and lanes run over outputs: that is what makes the
$ -- bits equal on every instruction set (docs/design.md, "Numerics").
$ local W, BLOCK, TILE, STRIDE = isa.lanes, plan.BLOCK, plan.KEY_TILE, plan.SCORE_STRIDE
$ local hd, dv, group = shape.head_dim, shape.v_head_dim, layout.group
$ local sums = 16 // W -- vectors that hold the 16 partial sums of the softmax
$ local vec = isa.vector
$ local factor = isa.factor or vec -- of the tiles: what one float of a row is multiplied as
$ local function at(base, offset) -- a pointer's text
$   return offset == 0 and base or ("%s + %d"):format(base, offset)
$ end
$ -- Tiles that read memory from afar have the cache fetch what follows, some lines with each step:
$ -- `next` is an address, since it may lie past the end of what is there.
$ local function ahead_parameter(lines) return lines and ", uintptr_t next" or "" end
$ local function ahead_argument(lines, base, floats)
$   return lines and (", (uintptr_t)(%s) + %d"):format(base, floats * 4) or ""
$ end
$ local function each(n, item) -- "a0, a1, a2": item(0), item(1), ...
$   local list = {}
$   for i = 0, n - 1 do list[#list + 1] = item(i) end
$   return table.concat(list, ", ")
$ end
$ -- Which keys of a block a row sees: from[r] .. limit[r] - 1; without a window `from` is nowhere.
$ local windowed = shape.window > 0
$ local reach = layout.reach -- a query at position i sees keys up to i + reach - 1; nil: all
$ local limits_parameter = windowed and "const int *from, const int *limit" or "const int *limit"
$ local function limits_argument(offset) -- the text of an index into them, with its operator
$   return windowed and ("from%s, limit%s"):format(offset, offset) or "limit" .. offset
$ end
$ -- Whether scores are changed before the softmax takes them: soft cap, ALiBi.
$ local adjusts = shape.softcap or shape.alibi
$ local place_parameter = adjusts and (", const %s_place *place"):format(id) or ""
$ local place_argument = adjusts and ", place" or ""
$ -- exp2 in units that the path needs: the magic path keeps y / 2 and multiplies by 2^(n + 1).
$ local half = not has.scale_unless_below and 0.5 or 1
$ -- Below it a weight is +0. Biases make weights of every size: none may be so small that its
$ -- products with values are subnormal, which takes CPUs many times as long.
$ local least = shape.alibi and -96.0 or -126.0
$ local c = { 0x1p0, 0x1.62e424p-1, 0x1.ebf9b0p-3, 0x1.c6ba92p-5, 0x1.3ced02p-7, 0x1.5ab260p-10 }
$ local function coefficient(i) return set1(float(c[i + 1] * half)) end

/* 2^x for x <= 0: n = x rounded to nearest even, a polynomial in x - n, times 2^n; +0 below ${tostring(math.tointeger(least))}.
 * At most ${isa.fused and "1.8" or "2.1"} ulp. NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_exp2(${vec} x)
{
$ if has.scale_unless_below then
    const ${vec} n = ${round_even("x")};
$ else
    /* adding 1.5 * 2^23 rounds; its low bits + 128 are the exponent of 2^(n + 1) */
    const ${vec} shifted = ${add("x", set1(float(12583040.0)))};
    const ${vec} n = ${sub("shifted", set1(float(12583040.0)))};
$ end
    const ${vec} f = ${sub("x", "n")};
    ${vec} y = ${fma(coefficient(5), "f", coefficient(4))};
$ for i = 3, 0, -1 do
    y = ${fma("y", "f", coefficient(i))};
$ end
$ if has.scale_unless_below then
    return ${scale_unless_below("y", "n", "x", float(least))};
$ else
    /* an fma, not a product: the sum that follows could swallow a product's rounding */
    y = ${fma("y", shift_exponent("shifted"), zero())};
    return ${zero_below("y", "x", float(least))};
$ end
}
$ if shape.softcap then
$   local cap = shape.softcap
$   local e = { 0x1.62e42ep-2, -0x1.c6a728p-7, 0x1.573eb4p-11 }

/* c * log2 e * tanh(s / c), c = ${float_text(cap)}, of z = 2 * log2 e * s / c. n is z rounded, f the rest. With
 * p = 2^n and t = tanh of f's share, by a polynomial that keeps the digits of small scores, it is
 * tanh = (p - 1 + t (p + 1)) / (p + 1 + t (p - 1)). From z = 30 on, that is 1. NaN passes. */
static inline ${ID}_CODE ${vec} ${id}_soft_cap(${vec} score)
{
    const ${vec} z = ${clamp("score", float(-30.0), float(30.0))};
    /* adding 1.5 * 2^23 rounds; its low bits + 128 are the exponent of 2^(n + 1) */
    const ${vec} shifted = ${add("z", set1(float(12583040.0)))};
    const ${vec} n = ${sub("shifted", set1(float(12583040.0)))};
    const ${vec} twice = ${shift_exponent("shifted")}; /* 2 p */
    const ${vec} f = ${sub("z", "n")};
    const ${vec} square = ${mul("f", "f")};
    const ${vec} series = ${fma(fma(set1(float(e[3])), "square", set1(float(e[2]))), "square", set1(float(e[1])))};
    const ${vec} t = ${mul("f", "series")};
    const ${vec} a = ${sub("twice", set1(float(2.0)))}, b = ${add("twice", set1(float(2.0)))};
    const ${vec} over = ${fma("t", "b", "a")}, under = ${fma("t", "a", "b")};
    const ${vec} tanh = ${div("over", "under")};
    return ${mul("tanh", set1(float(cap * LOG2_E)))};
}
$ end
$ if adjusts then

/* Whose scores they are: those of rows from first_row on of a KV head, with the keys from `block` on. */
typedef struct ${id}_place {
    const ${name}_call *call;
    size_t kv_head, first_row;
    ptrdiff_t block;
} ${id}_place;

/* Changes the scores of one block before the softmax takes them, of the keys that each row sees:
$   if shape.softcap then
 * soft cap${shape.alibi and ", then" or ""}
$   end
$   if shape.alibi then
 * ALiBi: plus slope * (position of the key - position of the query)
$   end
 */
static ${ID}_TILE void ${id}_adjust(float *s, int rows, ${limits_parameter}${place_parameter})
{
$   if shape.alibi then
    /* of the heads, times log2 e */
    static const float slopes[] = {
$     for i = 1, #alibi_slopes, 4 do
        ${table.concat(alibi_slopes, ", ", i, math.min(i + 3, #alibi_slopes))},
$     end
    };
    static const float lane[] = {${each(W, function(i) return float(i + 0.0) end)}};
$   else
    (void)place;
$   end
    for (int r = 0; r < rows; r++, s += ${STRIDE}) {
        int j = ${windowed and "from[r] / 16 * 16" or "0"};
$   if shape.alibi then
        const size_t row = place->first_row + (size_t)r;
        const ptrdiff_t before = place->block + j - (place->call->pos + (ptrdiff_t)(row / ${group}));
        const ${vec} slope = ${set1(("slopes[place->kv_head * %d + row %% %d]"):format(group, group))};
        ${vec} distance = ${add(set1("(float)before"), load("lane"))};
$   end
        for (; j < limit[r]; j += ${W}) {
            ${vec} x = ${load("s + j")};
$   if shape.softcap then
            x = ${call("soft_cap", "x")};
$   end
$   if shape.alibi then
            x = ${fma("slope", "distance", "x")};
            distance = ${add("distance", set1(float(W + 0.0)))};
$   end
            ${store("s + j", "x")};
        }
    }
}
$ end
$
$ -- A score tile: rows of queries times vectors of keys.
$ -- where the j-th vector of keys lies, in floats, from the first one of the tile
$ local function key_offset(j) return j * W // TILE * TILE * hd + j * W % TILE end
$ local score_tiles = {}
$ local function score_tile(rows, vectors, lines)
$   local id_tile = ("score_%dx%d"):format(rows, vectors) .. (lines and "_ahead_" .. lines or "")
$   if score_tiles[id_tile] then return id_tile end
$   score_tiles[id_tile] = true
$   -- clang spills longer bodies with prefetches
$   local unroll = math.min(own.unroll, lines and 4 or rows == own.score_rows and own.unroll or 8)

/* scores of ${rows} rows and ${vectors * W} keys: s[i][j] = sum over d of q[i][d] * k[d][j], in order of d */
static ${ID}_TILE void ${id}_${id_tile}(const float *q, const float *k, float *s${ahead_parameter(lines)})
{
$   for i = 0, rows - 1 do
    ${vec} ${each(vectors, function(j) return ("s%d_%d = %s"):format(i, j, zero()) end)};
$   end
$   local function step(d)
    {
$     for j = 0, vectors - 1 do
        const ${vec} k${j} = ${load(at("k", d * TILE + key_offset(j)))};
$     end
$     for line = 0, (lines or 0) - 1 do
        ${prefetch(("next + %d"):format((d * lines + line) * 64))};
$     end
$     for i = 0, rows - 1 do
        const ${factor} q${i} = ${spread(("q[%d]"):format(i * own.query_stride + d))};
$       for j = 0, vectors - 1 do
        s${i}_${j} = ${fma_spread("q" .. i, "k" .. j, ("s%d_%d"):format(i, j))};
$       end
$     end
    }
$   end
$   local whole = hd // unroll * unroll
$   if whole > unroll then
    for (int d = 0; d < ${whole}; d += ${unroll}) {
$   else
    {
$   end
$   for d = 0, unroll - 1 do step(d) end
        q += ${unroll};
        k += ${unroll * TILE};
$   if lines then
        next += ${unroll * lines * 64};
$   end
    }
$   for d = 0, hd - whole - 1 do step(d) end
$   for i = 0, rows - 1 do
$     for j = 0, vectors - 1 do
    ${store(at("s", i * STRIDE + j * W), ("s%d_%d"):format(i, j))};
$     end
$   end
}
$   return id_tile
$ end
$ local wide_scores, narrow_scores, alone_scores = {}, {}, {}
$ for _, rows in ipairs(own.rows) do
$   if not own.decode_only[rows] then
$     wide_scores[rows] = score_tile(rows, own.wide[rows])
$     narrow_scores[rows] = own.wide[rows] * W > TILE and score_tile(rows, own.narrow[rows]) or wide_scores[rows]
$   end
$   -- the tiles that all rows need for one key tile: array of {tile, row, column}, of which the first
$   -- ones read the next key tile ahead: `next_keys` floats from this one
$   local tiles, calls, row = 0, {}, 0
$   for _, part in ipairs(own.alone_score[rows]) do tiles = tiles + TILE // (part.vectors * W) end
$   for _, part in ipairs(own.alone_score[rows]) do
$     for column = 0, TILE - 1, part.vectors * W do
$       local lines = has.prefetch and #calls < TILE // 16 and math.max(1, TILE // 16 // tiles) or nil
$       calls[#calls + 1] = { tile = score_tile(part.rows, part.vectors, lines), row = row, column = column,
$         lines = lines, next_keys = (TILE + #calls * 16) * hd }
$     end
$     row = row + part.rows
$   end
$   alone_scores[rows] = calls
$ end
$ if windowed then

/* Softmax of one block of scores for `rows` rows, of which row r sees the keys from[r] .. limit[r] - 1.
$ else

/* Softmax of one block of scores for `rows` rows, of which row r sees the first limit[r] keys.
$ end
 * s becomes exp2(s - m) with m the row's greatest score so far; decay[r] is what the older sums
 * have to be multiplied with. Key j is summed in partial sum j mod 16. */
static ${ID}_TILE void ${id}_softmax(float *s, float *m, float *l, float *decay, int rows,
                             ${limits_parameter})
{
    /* the maxima first: their latencies overlap from row to row */
    for (int r = 0; r < rows; r++) {
        float *const row = s + r * ${STRIDE};
        const int visible = limit[r];
        const int full = visible / ${W} * ${W};
        ${vec} ${each(4, function(i) return ("max%d = %s"):format(i, set1("m[r]")) end)};
$ if windowed then
        int j = from[r] / 16 * 16;
        for (; j + ${W} <= from[r]; j += ${W})
            ${store("row + j", negative_infinity())};
$   if W > 1 then
        if (j < from[r])
            ${store("row + j", select_first("from[r] - j", negative_infinity(), load("row + j")))};
$   end
$ else
        int j = 0;
$ end
        for (; j + ${4 * W} <= full; j += ${4 * W}) {
$ for i = 0, 3 do
            max${i} = ${max(load(at("row + j", i * W)), "max" .. i)};
$ end
        }
        for (; j < full; j += ${W})
            max0 = ${max(load("row + j"), "max0")};
$ if W > 1 then
        if (j < visible) {
            const ${vec} tail = ${select_first("visible - j", load("row + j"), negative_infinity())};
            ${store("row + j", "tail")};
            max1 = ${max("tail", "max1")};
            j += ${W};
        }
$ end
        for (; j % 16 != 0; j += ${W})
            ${store("row + j", negative_infinity())};
        {
            const float greatest = ${reduce_max(max(max("max0", "max1"), max("max2", "max3")))};
            decay[r] = m[r] - greatest;
            m[r] = greatest;
        }
    }
    for (int r = 0; r < rows; r += ${W})
        ${store("decay + r", call("exp2", load("decay + r")))};
    for (int r = 0; r < rows; r++, s += ${STRIDE}, l += 16) {
        const int keys = (limit[r] + 15) / 16 * 16;
        const ${vec} shift = ${set1("m[r]")}, a = ${set1("decay[r]")};
        ${vec} ${each(sums, function(i) return ("sum%d = %s"):format(i, zero()) end)};
        int j = ${windowed and "from[r] / 16 * 16" or "0"};
$ local together = math.max(4, sums) -- vectors in flight
        for (; j + ${together * W} <= keys; j += ${together * W}) {
$ for i = 0, together - 1 do
            const ${vec} p${i} = ${call("exp2", sub(load(at("s + j", i * W)), "shift"))};
$ end
$ for i = 0, together - 1 do
            ${store(at("s + j", i * W), "p" .. i)};
            sum${i % sums} = ${add("sum" .. i % sums, "p" .. i)};
$ end
        }
$ if together > sums then
        for (; j < keys; j += 16) {
$   for i = 0, sums - 1 do
            const ${vec} p${i} = ${call("exp2", sub(load(at("s + j", i * W)), "shift"))};
            ${store(at("s + j", i * W), "p" .. i)};
            sum${i} = ${add("sum" .. i, "p" .. i)};
$   end
        }
$ end
$ for i = 0, sums - 1 do
        ${store(at("l", i * W), fma(load(at("l", i * W)), "a", "sum" .. i))};
$ end
    }
}
$
$ -- A value tile: rows of weights times vectors of value channels.
$ local value_tiles = {}
$ local function value_tile(rows, vectors, width, lines)
$   local id_tile = ("value_%dx%d_of_%d"):format(rows, vectors, width) .. (lines and "_ahead_" .. lines or "")
$   if value_tiles[id_tile] then return id_tile end
$   value_tiles[id_tile] = true
$   local function key(t, row_list, indent)
$     for j = 0, vectors - 1 do
        ${indent}const ${vec} v${j} = ${load(at("v", t * width + j * W))};
$     end
$     for _, i in ipairs(row_list) do
        ${indent}const ${factor} p${i} = ${spread(("p[%d]"):format(i * STRIDE + t))};
$       for j = 0, vectors - 1 do
        ${indent}o${i}_${j} = ${fma_spread("p" .. i, "v" .. j, ("o%d_%d"):format(i, j))};
$       end
$     end
$   end
$   local all = {}
$   for i = 0, rows - 1 do all[#all + 1] = i end
$   local function edge(first, seen) -- one key for the rows that see it, from row `first` on
$     for c = 0, vectors - 1 do
        const ${vec} v${c} = ${load(at("v", c * W))};
$     end
$     for i = first, rows - 1 do
        if (${seen(i)}) {
            const ${factor} p${i} = ${spread(("p[%d]"):format(i * STRIDE))};
$       for c = 0, vectors - 1 do
            o${i}_${c} = ${fma_spread("p" .. i, "v" .. c, ("o%d_%d"):format(i, c))};
$       end
        }
$     end
$   end

/* o[i][c] = decay[i] * o[i][c] + sum over keys ${windowed and "from[i] <= " or ""}j < limit[i] of p[i][j] * v[j][c], in order of j;
 * ${rows} rows, ${vectors * W} channels of a panel ${width} wide; limits never fall from row to row;
 * `first`: o is +0, whatever lies there */
static ${ID}_TILE void ${id}_${id_tile}(const float *p, const float *v, float *o, const float *decay,
                         ${limits_parameter}, int first${ahead_parameter(lines)})
{
$   for i = 0, rows - 1 do
    ${vec} ${each(vectors, function(j) return ("o%d_%d = %s"):format(i, j, zero()) end)};
$   end
    if (!first) {
$   for i = 0, rows - 1 do
        const ${vec} a${i} = ${set1(("decay[%d]"):format(i))};
$     for j = 0, vectors - 1 do
        o${i}_${j} = ${mul(load(at("o", i * layout.value_width + j * W)), "a" .. i)};
$     end
$   end
    }
$   if windowed then
    int j = from[0];
    p += j;
    v += (size_t)j * ${width};
$     if rows > 1 then
    /* where the windows begin: row by row, exactly the keys that each one sees */
    for (; j < from[${rows - 1}]; j++, p++, v += ${width}) {
$     edge(0, function(i) return (i > 0 and ("from[%d] <= j && "):format(i) or "") .. ("j < limit[%d]"):format(i) end)
    }
$     end
$     if lines then
    next += (uintptr_t)j * ${lines * 64};
$     end
$   else
    int j = 0;
$   end
    for (; j + 4 <= limit[0]; j += 4, p += 4, v += ${4 * width}) {
$   for t = 0, 3 do
        {
$     key(t, all, "    ")
        }
$   end
$   if lines then
$     for line = 0, 4 * lines - 1 do
        ${prefetch(("next + %d"):format(line * 64))};
$     end
        next += ${4 * lines * 64};
$   end
    }
    for (; j < limit[0]; j++, p++, v += ${width}) {
$   key(0, all, "")
    }
$   if rows > 1 then
    /* the diagonal: row by row, exactly the keys that each one sees */
    for (; j < limit[${rows - 1}]; j++, p++, v += ${width}) {
$     edge(1, function(i) return ("j < limit[%d]"):format(i) end)
    }
$   end
$   for i = 0, rows - 1 do
$     for c = 0, vectors - 1 do
    ${store(at("o", i * layout.value_width + c * W), ("o%d_%d"):format(i, c))};
$     end
$   end
}
$   return id_tile
$ end
$ -- how some rows cut a panel: array of {column, vectors}
$ local function value_columns(rows, panel)
$   local columns, vectors = {}, panel.width // W
$   local wide = own.value_tile(rows, vectors)
$   for first = 0, vectors - 1, wide do
$     columns[#columns + 1] = { column = first * W, vectors = math.min(wide, vectors - first) }
$   end
$   return columns
$ end
$ -- value_calls[rows][panel]: array of {tile, column}; alone_values: also {row, lines, next_values},
$ -- where the first ones read the panel's next keys ahead, `next_values` floats from these
$ local value_calls, alone_values, once = {}, {}, {}
$ for _, rows in ipairs(own.rows) do
$   value_calls[rows], alone_values[rows], once[rows] = {}, {}, true
$   for number, panel in ipairs(layout.panels) do
$     if not own.decode_only[rows] then
$       local calls = value_columns(rows, panel)
$       for _, call in ipairs(calls) do call.tile = value_tile(rows, call.vectors, panel.width) end
$       value_calls[rows][number] = calls
$     end
$     local calls, row = {}, 0
$     for _, part in ipairs(own.alone_value[rows]) do
$       for _, call in ipairs(value_columns(part, panel)) do
$         call.row, call.rows = row, part
$         calls[#calls + 1] = call
$       end
$       row = row + part
$     end
$     for i, call in ipairs(calls) do
$       if has.prefetch and i <= panel.width // 16 then
$         call.lines = math.max(1, panel.width // 16 // #calls)
$         call.next_values = own.value_keys * (panel.width + (i - 1) * 16 * call.lines)
$       end
$       call.tile = value_tile(call.rows, call.vectors, panel.width, call.lines)
$     end
$     alone_values[rows][number] = calls
$     once[rows] = once[rows] and #calls == 1 -- each value is read once
$   end
$ end
$ local CHUNK = own.value_keys
$ local function panel_start(panel, first) -- the text of a panel's key `first`
$   local text = panel.offset > 0 and ("v + (size_t)block_keys * %d"):format(panel.offset) or "v"
$   return first and ("%s + (size_t)%s * %d"):format(text, first, panel.width) or text
$ end
$ local function within_chunk(key) -- the text of a key's number in the chunk from j on
$   return ("%s < j ? 0 : %s - j < %d ? %s - j : %d"):format(key, key, CHUNK, key, CHUNK)
$ end
$ local tile_counts = {} -- row counts of the tiles that share keys, falling
$ for _, rows in ipairs(own.rows) do
$   if not own.decode_only[rows] then tile_counts[#tile_counts + 1] = rows end
$ end

/* The scores of a tile of rows with the keys j .. end - 1 of a block */
static ${ID}_CODE void ${id}_scores(int rows, const float *q, const float *k, float *s, int j, int end)
{
    switch (rows) {
$ for i, rows in ipairs(tile_counts) do
$   local wide, narrow = own.wide[rows] * W, own.narrow[rows] * W -- in keys
    ${i == #tile_counts and "default" or "case " .. rows}:
$   if wide > TILE then
        for (; j + ${wide - TILE} < end; j += ${wide})
            ${id}_${wide_scores[rows]}(q, k + (size_t)j * ${hd}, s + j);
$   else narrow = wide end
        for (; j < end; j += ${narrow})
$   if narrow == TILE then
            ${id}_${narrow_scores[rows]}(q, k + (size_t)j * ${hd}, s + j);
$   else
            ${id}_${narrow_scores[rows]}(q, k + (size_t)(j / ${TILE}) * ${TILE * hd} + j % ${TILE}, s + j);
$   end
        break;
$ end
    }
}
$ for number, panel in ipairs(layout.panels) do

/* The values${#layout.panels > 1 and (" of panel %d"):format(number) or ""} of a tile of rows */
static ${ID}_CODE void ${id}_values_${number}(int rows, const float *p, const float *v, float *o, const float *decay,
                            ${limits_parameter}, int first)
{
    switch (rows) {
$   for i, rows in ipairs(tile_counts) do
    ${i == #tile_counts and "default" or "case " .. rows}:
$     for _, call in ipairs(value_calls[rows][number]) do
        ${id}_${call.tile}(p, ${at("v", call.column)}, ${at("o", call.column)}, decay, ${limits_argument("")}, first);
$     end
        break;
$   end
    }
}
$ end
$ for _, rows in ipairs(own.rows) do

/* One block of keys for ${rows} rows where no other rows read them: in one forward stream. */
static ${ID}_CODE void ${id}_alone_${rows}(const float *q, const float *kv, int block_keys, float *s, float *o, float *m,
                            float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
    const int keys = limit[${rows - 1}];
    const float *const v = kv + (size_t)block_keys * ${hd};
    for (int j = ${windowed and ("from[0] / %d * %d"):format(TILE, TILE) or "0"}; j < keys; j += ${TILE}) {
        const float *const k = kv + (size_t)j * ${hd};
$   for _, call in ipairs(alone_scores[rows]) do
        ${id}_${call.tile}(${at("q", call.row * own.query_stride)}, ${at("k", call.column)}, ${at("s + j", call.row * STRIDE + call.column)}${ahead_argument(call.lines, "k", call.next_keys)});
$   end
    }
$   if adjusts then
    ${id}_adjust(s, ${rows}, ${limits_argument("")}, place);
$   end
    ${id}_softmax(s, m, l, decay, ${rows}, ${limits_argument("")});
$   local start = windowed and "start" or "0"
$   if windowed and not once[rows] then
    const int start = from[0] / ${CHUNK} * ${CHUNK};
$   end
$   for number, panel in ipairs(layout.panels) do
$     if once[rows] then -- no need to stop now and then
$       local call = alone_values[rows][number][1]
    ${id}_${call.tile}(s, ${panel_start(panel)}, ${at("o", panel.offset)}, decay, ${limits_argument("")}, first${ahead_argument(call.lines, panel_start(panel), call.next_values)});
$     else
    for (int j = ${start}; j < keys; j += ${CHUNK}) {
        static const float one[${rows}] = {${each(rows, function() return "1.0f" end)}};
        const float *const factor = j == ${start} ? decay : one;
        int seen[${rows}];
        for (int i = 0; i < ${rows}; i++)
            seen[i] = ${within_chunk("limit[i]")};
$       if windowed then
        int since[${rows}];
        for (int i = 0; i < ${rows}; i++)
            since[i] = ${within_chunk("from[i]")};
$       end
$       for _, call in ipairs(alone_values[rows][number]) do
        ${id}_${call.tile}(${at("s + j", call.row * STRIDE)}, ${at(panel_start(panel, "j"), call.column)}, ${at("o", call.row * layout.value_width + panel.offset + call.column)},
            ${at("factor", call.row)}, ${windowed and at("since", call.row) .. ", " or ""}${at("seen", call.row)}, first && j == ${start}${ahead_argument(call.lines, panel_start(panel, "j"), call.next_values)});
$       end
    }
$     end
$   end
}
$ end

/* Rows of the next tile, of those left */
static inline ${ID}_CODE int ${id}_tile_rows(size_t left)
{
$ for _, rows in ipairs(own.rows) do
$   if not own.decode_only[rows] and rows > 1 then
    if (left >= ${rows})
        return ${rows};
$   end
$ end
    (void)left;
    return 1;
}

/* One block of keys for some rows: scores, softmax, values. */
static ${ID}_CODE void ${id}_block(size_t rows, const float *q, const float *kv, int block_keys, float *s, float *o,
                       float *m, float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
    const float *const v = kv + (size_t)block_keys * ${hd};
    int tile;
    /* some keys for all rows, and then the next ones */
    for (int j = ${windowed and ("from[0] / %d * %d"):format(TILE, TILE) or "0"}; j < limit[rows - 1]; j += ${own.score_keys})
        for (size_t r = 0; r < rows; r += (size_t)tile) {
            int end;
            tile = ${id}_tile_rows(rows - r);
            end = limit[r + (size_t)tile - 1];
$ if windowed then
            const int start = from[r] / ${TILE} * ${TILE};
            ${id}_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, start > j ? start : j,
                end < j + ${own.score_keys} ? end : j + ${own.score_keys});
$ else
            ${id}_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, j,
                end < j + ${own.score_keys} ? end : j + ${own.score_keys});
$ end
        }
$ if adjusts then
    ${id}_adjust(s, (int)rows, ${limits_argument("")}, place);
$ end
    ${id}_softmax(s, m, l, decay, (int)rows, ${limits_argument("")});
$ for number, panel in ipairs(layout.panels) do
    for (size_t r = 0; r < rows; r += (size_t)tile) {
        tile = ${id}_tile_rows(rows - r);
        ${id}_values_${number}(tile, s + r * ${STRIDE}, ${panel_start(panel)},
            ${at("o", panel.offset)} + r * ${layout.value_width}, decay + r, ${limits_argument(" + r")}, first);
    }
$ end
}

/* Calls a row count's _alone function, or returns 0 where it has none. */
static ${ID}_CODE int ${id}_alone(size_t rows, const float *q, const float *kv, int block_keys, float *s, float *o,
                      float *m, float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
    switch (rows) {
$ for _, rows in ipairs(own.rows) do
    case ${rows}:
        ${id}_alone_${rows}(q, kv, block_keys, s, o, m, l, decay, ${limits_argument("")}, first${place_argument});
        return 1;
$ end
    default:
        return 0;
    }
}

static ${ID}_CODE void ${id}_attend(const ${name}_call *call, size_t kv_head, size_t first_row, size_t rows,
                        float *scratch)
{
    float *const q = scratch + ${own.scratch.q}; /* [rows][${own.query_stride}], times scale and log2 e${shape.softcap and " and 2 / soft cap" or ""} */
    float *const o = scratch + ${own.scratch.o}; /* [rows][${layout.value_width}] */
    float *const l = scratch + ${own.scratch.l}; /* [rows][16] */
    float *const m = scratch + ${own.scratch.m}; /* [rows] */
    float *const decay = scratch + ${own.scratch.decay};
    float *const s = scratch + ${own.scratch.s}; /* [rows][${STRIDE}] */
    const float *const kv = call->kv + kv_head * call->kv_stride;
    const ptrdiff_t n_kv = (ptrdiff_t)call->n_kv;
    ptrdiff_t end = n_kv; /* keys that the last row sees */
$ if adjusts then
    ${id}_place place = {call, kv_head, first_row, 0};
$ end
$ if windowed then
    ptrdiff_t start = call->pos + (ptrdiff_t)(first_row / ${group}) - ${shape.window - 1}; /* key that the first row sees first */
    int from[${own.scratch.rows}] = {0}, limit[${own.scratch.rows}] = {0}; /* keys of the block that each row sees */
$ else
    int limit[${own.scratch.rows}] = {0}; /* keys of the block that each row sees */
$ end

    for (size_t r = 0; r < rows; r++) {
        const size_t position = (first_row + r) / ${group}, head = kv_head * ${group} + (first_row + r) % ${group};
        const float *const source = call->q + (position * ${shape.heads} + head) * ${hd};
        float *const scaled = q + r * ${own.query_stride};
$ local whole_q = hd // W * W
$ if whole_q > 0 then
        for (int d = 0; d < ${whole_q}; d += ${W})
            ${store("scaled + d", mul(load("source + d"), set1(float(query_scale))))};
$ end
$ if whole_q < hd then
        for (int d = ${whole_q}; d < ${hd}; d++)
            scaled[d] = source[d] * ${float(query_scale)};
$ end
        m[r] = -FLT_MAX;
$ if has.prefetch then
        /* what will be written, and the query that another call needs next */
        for (int c = 0; c < ${dv}; c += 16)
            ${prefetch(("call->out + (position * %d + head) * %d + c"):format(shape.heads, dv))};
        if (position + rows / ${group} < call->n)
            for (int d = 0; d < ${hd}; d += 16)
                ${prefetch(("source + rows / %d * %d + d"):format(group, shape.heads * hd))};
$ end
    }
    memset(l, 0, rows * 16 * sizeof(float));
$ if shape.sinks then
    for (size_t r = 0; r < rows; r++) {
        /* the sink comes before all keys: a score that has no value */
        const float sink = call->sinks[kv_head * ${group} + (first_row + r) % ${group}] * ${float(LOG2_E)};
        if (sink >= -FLT_MAX)
            m[r] = sink;
        l[r * 16] = sink >= -FLT_MAX ? 1.0f : sink < 0.0f ? 0.0f : sink; /* -inf is none, NaN stays */
    }
$ end
    memset(decay, 0, ${own.scratch.s - own.scratch.decay} * sizeof(float)); /* whole vectors of it are used */
$ if reach then
    {
        const ptrdiff_t last = call->pos + (ptrdiff_t)((first_row + rows - 1) / ${group}) + ${reach};
        if (last < end)
            end = last;
    }
$ end

$ if windowed then
    start = start < 0 ? 0 : start / ${BLOCK} * ${BLOCK}; /* of its block */
$ end
    for (ptrdiff_t block = ${windowed and "start" or "0"}; block < end; block += ${BLOCK}) {
        const float *const block_kv = kv + (size_t)block * ${hd + layout.value_width};
$ if layout.blocks > 1 then
        const int block_keys = block < ${(layout.blocks - 1) * BLOCK} ? ${BLOCK} : ${layout.last_block_keys};
$ else
        const int block_keys = ${layout.last_block_keys};
$ end
        for (size_t r = 0; r < rows; r++) {
            ptrdiff_t seen = n_kv - block;
$ if windowed then
            const ptrdiff_t begin = call->pos + (ptrdiff_t)((first_row + r) / ${group}) - ${shape.window - 1} - block;
$ end
$ if reach then
            const ptrdiff_t row_end = call->pos + (ptrdiff_t)((first_row + r) / ${group}) + ${reach} - block;
            if (row_end < seen)
                seen = row_end;
$ end
            limit[r] = seen < 0 ? 0 : seen > ${BLOCK} ? ${BLOCK} : (int)seen;
$ if windowed then
            from[r] = begin < 0 ? 0 : begin > limit[r] ? limit[r] : (int)begin;
$ end
        }
$ if adjusts then
        place.block = block;
$ end
$ local first_block = windowed and "block == start" or "block == 0"
        if (${id}_alone(rows, q, block_kv, block_keys, s, o, m, l, decay, ${limits_argument("")}, ${first_block}${adjusts and ", &place" or ""}))
            continue;
        ${id}_block(rows, q, block_kv, block_keys, s, o, m, l, decay, ${limits_argument("")}, ${first_block}${adjusts and ", &place" or ""});
    }

    for (size_t r = 0; r < rows; r++) {
        const size_t position = (first_row + r) / ${group}, head = kv_head * ${group} + (first_row + r) % ${group};
        float *const target = call->out + (position * ${shape.heads} + head) * ${dv};
        const float *const source = o + r * ${layout.value_width};
        if (${reach and ("n_kv == 0 || call->pos + (ptrdiff_t)position < %d"):format(1 - reach) or "n_kv == 0"}) { /* no key is visible */
            memset(target, 0, ${dv} * sizeof(float));
            continue;
        }
        const float sum = ${fold("l + r * 16")};
        const ${vec} scale = ${set1("1.0f / sum")};
$ local whole = dv // W * W
$ if whole > 0 then
        for (int c = 0; c < ${whole}; c += ${W})
            ${store("target + c", fma(load("source + c"), "scale", zero()))};
$ end
$ if whole < dv then
        ${store_first(tostring(dv - whole), at("target", whole), fma(load(at("source", whole)), "scale", zero()))};
$ end
    }
}

/* Keys go to tiles of ${TILE}, [head_dim][${TILE}]; values to panels, [keys of the block][width]. A block of
 * ${BLOCK} keys is followed by its values. Channels past v_head_dim are zero. */
static ${ID}_CODE void ${id}_pack(const float *k, const float *v, size_t pos, size_t n, float *kv)
{
    for (size_t i = 0; i < n;) {
        const size_t block = (pos + i) / ${BLOCK}, key = (pos + i) % ${BLOCK};
$ if layout.blocks > 1 then
        const size_t block_keys = block < ${layout.blocks - 1} ? ${BLOCK} : ${layout.last_block_keys};
$ else
        const size_t block_keys = ${layout.last_block_keys};
$ end
        float *const block_kv = kv + block * ${BLOCK * (hd + layout.value_width)};
        float *const tile = block_kv + key / ${TILE} * ${TILE * hd} + key % ${TILE};
        float *const values = block_kv + block_keys * ${hd};
        const float *const key_rows = k + i * ${shape.kv_heads * hd};
        const float *const value_rows = v + i * ${shape.kv_heads * dv};
        size_t rows = 1;
$ local squares = has.transpose and hd // W * W or 0 -- channels that whole squares cover
$ if squares > 0 then
        if (key % ${W} == 0 && n - i >= ${W}) {
            rows = ${W};
            for (int d = 0; d < ${squares}; d += ${W})
                ${transpose("key_rows + d", tostring(shape.kv_heads * hd), ("tile + d * %d"):format(TILE))};
$   if squares < hd then
            for (int r = 0; r < ${W}; r++)
                for (int d = ${squares}; d < ${hd}; d++)
                    tile[d * ${TILE} + r] = key_rows[r * ${shape.kv_heads * hd} + d];
$   end
        } else {
            for (int d = 0; d < ${hd}; d++)
                tile[d * ${TILE}] = key_rows[d];
        }
$ else
        for (int d = 0; d < ${hd}; d++)
            tile[d * ${TILE}] = key_rows[d];
$ end
        for (size_t r = 0; r < rows; r++) {
            const float *source = value_rows + r * ${shape.kv_heads * dv};
            float *target;
$ for _, panel in ipairs(layout.panels) do
$   local count = math.min(panel.width, dv - panel.offset)
            target = values + ${panel.offset > 0 and ("block_keys * %d + "):format(panel.offset) or ""}(key + r) * ${panel.width};
$   local copied = count // W * W
$   if copied > 0 then
            for (int c = 0; c < ${copied}; c += ${W})
                ${store("target + c", load("source + c"))};
$   end
$   if copied < panel.width then
            for (int c = ${copied}; c < ${panel.width}; c++)
                target[c] = ${count < panel.width and ("c < %d ? source[c] : 0.0f"):format(count) or "source[c]"};
$   end
$   if panel.offset + panel.width < dv then
            source += ${panel.width};
$   end
$ end
        }
        i += rows;
    }
}
$ if shape.emit == "layer" then
$   local PANEL = plan.PANEL
$   local written = {}
$   -- Tiles of several rows prefetch a line of the next panel every 8 steps.
$   local function reads_ahead(rows, depth) return has.prefetch and rows > 1 and depth >= 8 end
$   local function project_tile(rows, depth, bias)
$     local vectors = own.project_vectors[rows]
$     local lines = reads_ahead(rows, depth)
$     local id_tile = ("project_%dx%d_%s%d"):format(rows, vectors, bias and "bias_" or "", depth)
$     if written[id_tile] then return id_tile end
$     written[id_tile] = true

/* y[i][c] = ${bias and "bias[c]" or "0"} + sum over d of x[i][d] * w[d][c], in order of d; ${rows} rows, ${vectors * W} columns of a panel */
static ${ID}_TILE void ${id}_${id_tile}(const float *x, const float *w, float *y, size_t y_stride${ahead_parameter(lines)})
{
$     for i = 0, rows - 1 do
$       for j = 0, vectors - 1 do
    ${vec} y${i}_${j} = ${bias and load("w + " .. j * W) or zero()};
$       end
$     end
$     if bias then
    w += ${PANEL};
$     end
$     local unroll = math.min(depth, 8)
    for (int d = 0; d < ${depth // unroll * unroll}; d += ${unroll}, x += ${unroll}, w += ${unroll * PANEL}) {
$     local function step(t)
        {
$       for j = 0, vectors - 1 do
            const ${vec} w${j} = ${load(at("w", t * PANEL + j * W))};
$       end
$       for i = 0, rows - 1 do
            const ${factor} x${i} = ${spread(("x[%d]"):format(i * depth + t))};
$         for j = 0, vectors - 1 do
            y${i}_${j} = ${fma_spread("x" .. i, "w" .. j, ("y%d_%d"):format(i, j))};
$         end
$       end
        }
$     end
$     if lines then
        ${prefetch("next")};
        next += 64;
$     end
$     for t = 0, unroll - 1 do step(t) end
    }
$     for t = 0, depth % unroll - 1 do step(t) end
$     for j = 0, vectors - 1 do
    ${store(at("y", j * W), "y0_" .. j)};
$     end
$     for i = 1, rows - 1 do
    y += y_stride;
$       for j = 0, vectors - 1 do
    ${store(at("y", j * W), ("y%d_%d"):format(i, j))};
$       end
$     end
    (void)y_stride;
}
$     return id_tile
$   end
$   local function project(which, depth, bias)
$     local calls = {}
$     for _, rows in ipairs(own.project_counts) do
$       calls[#calls + 1] = { rows = rows, tile = project_tile(rows, depth, bias), step = own.project_vectors[rows] * W }
$     end

static ${ID}_CODE void ${id}_${which}(const float *x, size_t n, const float *w, size_t columns, size_t first,
                         size_t count, float *y)
{
    float edge[${own.project_counts[1] * PANEL}]; /* of the last panel, where it has fewer columns */
    for (size_t panel = first; panel < first + count; panel++) {
        const float *const panel_w = w + panel * ${PANEL * (depth + (bias and 1 or 0))};
        const size_t width = columns - panel * ${PANEL} < ${PANEL} ? columns - panel * ${PANEL} : ${PANEL};
        size_t rows;
$     if reads_ahead(own.project_counts[1], depth) then
        uintptr_t next = (uintptr_t)panel_w + ${PANEL * (depth + (bias and 1 or 0)) * 4}; /* the next panel */
        const uintptr_t end = next + ${PANEL * (depth + (bias and 1 or 0)) * 4};
$     end
        for (size_t i = 0; i < n; i += rows) {
            float *const target = y + i * columns + panel * ${PANEL};
            float *const tile = width < ${PANEL} ? edge : target;
            const size_t stride = width < ${PANEL} ? ${PANEL} : columns;
$     for index, call in ipairs(calls) do
$       if index < #calls then
            if (n - i >= ${call.rows}) {
$       else
            {
$       end
                rows = ${call.rows};
$       for column = 0, PANEL - 1, call.step do
                ${id}_${call.tile}(x + i * ${depth}, ${at("panel_w", column)}, ${at("tile", column)}, stride${reads_ahead(call.rows, depth) and ", next" or ""});
$         if reads_ahead(call.rows, depth) then
            next += next < end ? ${depth // 8 * 64} : 0;
$         end
$       end
$       if index < #calls then
            } else
$       else
            }
$       end
$     end
            if (width < ${PANEL})
                for (size_t r = 0; r < rows; r++)
                    memcpy(target + r * columns, edge + r * ${PANEL}, width * sizeof(float));
        }
    }
}
$   end
$   project("project_in", shape.d_model, shape.qkv_bias)
$   project("project_out", layout.o_width, shape.o_bias)
$ end
$ if shape.rope then
$   local pairs_count = shape.rope.rotary_dim // 2
$   local padded = (pairs_count + W - 1) // W * W
$   local half = shape.rope.layout == "half"
$   local scaled = shape.rope.scaling ~= nil
$   local distance = half and rope.distance -- channels between those of a pair
$   local direct = half and distance % W == 0 and pairs_count % W == 0 -- pairs turn where they lie

/* (a * b) >> 62 for numbers of at most 2^62 */
static inline int64_t ${id}_multiply(int64_t a, int64_t b)
{
    const int64_t a_high = a >> 32, b_high = b >> 32;
    const int64_t a_low = (int64_t)((uint64_t)a & 0xffffffffu), b_low = (int64_t)((uint64_t)b & 0xffffffffu);
    return a_high * b_high * 4 + ((a_high * b_low) >> 30) + ((a_low * b_high) >> 30) +
           (int64_t)(((uint64_t)a_low * (uint64_t)b_low) >> 62);
}

$   if rope.factor then
/* cos and sin of a turn (2^64 is the whole circle), times ${float_text(shape.rope.scaling.attention_factor)}. In integers, so that no
 * compiler flag and no library can change a bit: Taylor series within an eighth turn, error below 2^-50. */
$   else
/* cos and sin of a turn (2^64 is the whole circle). In integers, so that no compiler flag and no
 * library can change a bit: Taylor series within an eighth turn, error below 2^-50. */
$   end
static void ${id}_turn(uint64_t turn, float *cosine, float *sine)
{
    static const int64_t cos_terms[] = {${rope.cos_terms}};
    static const int64_t sin_terms[] = {${rope.sin_terms}};
    const uint64_t quarter = (turn + ((uint64_t)1 << 61)) >> 62;
    const uint64_t rest = turn - (quarter << 62);
    /* within -2^61 .. 2^61; doubled it is the fraction of an eighth turn, times 2^62 */
    const int64_t u = (rest >> 63 ? -(int64_t)(~rest + 1) : (int64_t)rest) * 2;
    const int64_t square = ${id}_multiply(u, u);
    int64_t c = cos_terms[${rope.terms - 1}], s = sin_terms[${rope.terms - 1}];
    for (int i = ${rope.terms - 2}; i >= 0; i--) {
        c = ${id}_multiply(c, square) + cos_terms[i];
        s = ${id}_multiply(s, square) + sin_terms[i];
    }
$   if rope.factor then
    const int64_t factor = ${rope.factor}; /* in units of 2^-${rope.factor_bits} */
    const float x = (float)${id}_multiply(c, factor) * ${float(2.0 ^ -rope.factor_bits)};
    const float y = (float)${id}_multiply(${id}_multiply(s, u), factor) * ${float(2.0 ^ -rope.factor_bits)};
$   else
    const float x = (float)c * ${float(0x1p-62)}, y = (float)${id}_multiply(s, u) * ${float(0x1p-62)};
$   end
    switch (quarter & 3u) {
    case 0:
        *cosine = x;
        *sine = y;
        break;
    case 1:
        *cosine = -y;
        *sine = x;
        break;
    case 2:
        *cosine = -x;
        *sine = -y;
        break;
    default:
        *cosine = y;
        *sine = -x;
        break;
    }
}

$   local angle = scaled and "w(i)" or ("theta^(-i / %d)"):format(pairs_count)
$   local from = shape.rope.offset and ("(pos + %d)"):format(shape.rope.offset) or "pos"
/* Channels ${half and ("i and i + %d"):format(distance) or "2i and 2i + 1"} (i < ${pairs_count}) turn by ${from} * ${angle}${scaled and ", see the header" or ""}. */
static ${ID}_CODE void ${id}_rotate(float *x, size_t n, size_t heads, size_t pos${rope_switches and ", int is_long" or ""})
{
    /* turns per position: ${angle} / (2 pi), times 2^64${rope_switches and "; of short and of long sequences" or ""} */
$   local function turn_rows(list, indent)
$     for i = 1, #list, 4 do
        ${indent}${table.concat(list, ", ", i, math.min(i + 3, #list))},
$     end
$   end
$   if rope_switches then
    static const uint64_t both[2][${pairs_count}] = {
        {
$     turn_rows(rope.turns, "    ")
        },
        {
$     turn_rows(rope.long_turns, "    ")
        },
    };
    const uint64_t *const turns = both[is_long];
$   else
    static const uint64_t turns[] = {
$     turn_rows(rope.turns, "")
    };
$   end
    float cosine[${padded}] = {0}, sine[${padded}] = {0}, minus_sine[${padded}] = {0};
$   if not direct then
    float a[${padded}] = {0}, b[${padded}] = {0};
$   end
    for (size_t row = 0; row < n; row++) {
        for (int i = 0; i < ${pairs_count}; i++) {
            ${id}_turn(turns[i] * (uint64_t)(pos + row${shape.rope.offset and " + " .. shape.rope.offset or ""}), cosine + i, sine + i);
            minus_sine[i] = -sine[i];
        }
        for (size_t head = 0; head < heads; head++, x += ${hd}) {
$   if direct then
            float *const a = x, *const b = x + ${distance};
$   else
            for (int i = 0; i < ${pairs_count}; i++) {
                a[i] = x[${half and "i" or "2 * i"}];
                b[i] = x[${half and "i + " .. distance or "2 * i + 1"}];
            }
$   end
            for (int i = 0; i < ${padded}; i += ${W}) {
                const ${vec} u = ${load("a + i")}, v = ${load("b + i")};
                ${store("a + i", fma("u", load("cosine + i"), mul("v", load("minus_sine + i"))))};
                ${store("b + i", fma("v", load("cosine + i"), mul("u", load("sine + i"))))};
            }
$   if not direct then
            for (int i = 0; i < ${pairs_count}; i++) {
                x[${half and "i" or "2 * i"}] = a[i];
                x[${half and "i + " .. distance or "2 * i + 1"}] = b[i];
            }
$   end
        }
    }
}
$ end
$ if shape.qk_norm then
$   local norm, written = shape.qk_norm, {}
$   local function norm_row(width)
$     if written[width] then return end
$     written[width] = true
$     local whole, rest = width // 16 * 16, width % 16
$     -- Runs over the channels, 16 at a time: step(base, channel) writes what is done with those
$     -- at `base`, `channel` being the first one; the last ones lie in `tail`, followed by zeros.
$     local function over(indent, step)
$       if whole > 16 then
${indent}for (int c = 0; c < ${whole}; c += 16) {
$         step("x + c", "c")
${indent}}
$       elseif whole > 0 then
${indent}{
$         step("x", "0")
${indent}}
$       end
$       if rest > 0 then
${indent}{
$         step("tail", tostring(whole))
${indent}}
$       end
$     end
$     local function sum_up(indent, term)
$       over(indent, function(base)
$         for i = 0, sums - 1 do
${indent}    const ${vec} x${i} = ${load(at(base, i * W))};
${indent}    sum${i} = ${term("x" .. i, "sum" .. i)};
$         end
$       end)
$       for i = 0, sums - 1 do
${indent}${store(at("sums", i * W), "sum" .. i)};
$       end
$     end

/* ${norm.type == "layernorm" and "LayerNorm" or "RMSNorm"} of ${width} channels in place, times w${norm.bias and ", plus b" or ""}. A sum is 16 partial sums, those of the
 * channels with the same index mod 16, folded: the same bits on every instruction set. */
static ${ID}_CODE void ${id}_norm_${width}(float *x, const float *w${norm.bias and ", const float *b" or ""})
{
    float sums[16];
    ${vec} ${each(sums, function(i) return ("sum%d = %s"):format(i, zero()) end)}, factor;
$     if rest > 0 then
    float tail[16] = {0}; /* the last channels, ${rest} */
    memcpy(tail, ${at("x", whole)}, ${rest} * sizeof(float));
$     end
$     if norm.type == "layernorm" then
    for (int pass = 0; pass < 2; pass++) { /* the second takes off what rounding a large mean left */
$       sum_up("        ", function(x, sum) return add(x, sum) end)
        const float mean = ${fold("sums")} / ${float(width + 0.0)};
$       if whole > 0 then
        const ${vec} shift = ${set1("mean")};
        for (int c = 0; c < ${whole}; c += ${W})
            ${store("x + c", sub(load("x + c"), "shift"))};
$       end
$       if rest > 0 then
        for (int i = 0; i < ${rest}; i++)
            tail[i] = tail[i] - mean;
$       end
$       for i = 0, sums - 1 do
        sum${i} = ${zero()};
$       end
    }
$     end
$     sum_up("    ", function(x, sum) return fma(x, x, sum) end)
    factor = ${sqrt(set1(("%s / %s + %s"):format(fold("sums"), float(width + 0.0), float(norm.eps))))};
    factor = ${set1(("1.0f / %s"):format(first("factor")))};
$     over("    ", function(base, channel)
$       local function parameter(name, i) return load(at(channel == "0" and name or name .. " + " .. channel, i * W)) end
$       for i = 0, sums - 1 do
$         local value, weight = mul(load(at(base, i * W)), "factor"), parameter("w", i)
        ${store(at(base, i * W), norm.bias and fma(value, weight, parameter("b", i)) or mul(value, weight))};
$       end
$     end)
$     if rest > 0 then
    memcpy(${at("x", whole)}, tail, ${rest} * sizeof(float));
$     end
}
$   end
$   local function norm_of(which, heads, packed)
$     norm_row(packed.width)

static ${ID}_CODE void ${id}_norm_${which}(float *x, size_t n, const float *w)
{
    for (size_t row = 0; row < n; row++)
$     if norm.width == "full" then
        ${id}_norm_${packed.width}(x + row * ${packed.width}, w${norm.bias and (", w + %d"):format(packed.bias) or ""});
$     else
        for (size_t head = 0; head < ${heads}; head++, x += ${hd})
$       local own = norm.weights == "per_head" and (" + head * %d"):format(packed.stride) or ""
            ${id}_norm_${packed.width}(x, w${own}${norm.bias and (", w%s + %d"):format(own, packed.bias) or ""});
$     end
}
$   end
$   norm_of("q", shape.heads, layout.q_norm)
$   norm_of("k", shape.kv_heads, layout.k_norm)
$ end

const ${name}_kernels ${id}_kernels = {
    "${isa.id}",
    ${own.query_rows},
    ${id}_pack,
    ${id}_attend,
$ if shape.emit == "layer" then
    ${id}_project_in,
    ${id}_project_out,
$ end
$ if shape.qk_norm then
    ${id}_norm_q,
    ${id}_norm_k,
$ end
$ if shape.rope then
    ${id}_rotate,
$ end
};
#if defined(__clang__)
#if defined(__x86_64__) || defined(__aarch64__)
#pragma float_control(pop)
#endif
$ if isa.quiet then
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
$ end
#endif
#endif
