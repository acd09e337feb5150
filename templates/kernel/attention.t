$ -- Attention on given q, k and v: changed scores, tiles of scores, softmax, tiles of values, the
$ -- attention of some rows, packing.
$ local changes = shape.softcap or shape.alibi or shape.relative_bias -- each score
$ local adds_biases = biased and not changes -- a tile of scores can end with that
$ if adjusts then

/* Whose scores they are: those of rows from first_row on of a KV head, with the keys from `block` on. */
typedef struct ${id}_place {
    const ${name}_call *call;
    size_t kv_head, first_row;
    ptrdiff_t block;
$   if masked then
    uint32_t *seen;  /* [rows][${WORDS}]: a bit for each key of the block that a row sees */
    uint32_t *hides; /* [rows]: 1 where the caller hides keys within the row's limits${biased and ", 2 more where biases are low" or ""} */
    uint32_t *any;   /* [rows]: whether they saw a key, of any block */
    int first;       /* whether none of them did */
$   end
$   if biased then
    const float **bias; /* [rows, and a tile's more]: their biases of the block's keys; NULL: none */
$   end
$   if shape.relative_bias then
    float *line;    /* [${group} heads][${own.relative_line}]: the relative biases of the block's keys, one row's */
    ptrdiff_t last; /* behind the other's: the first are those of the row at this position */
$   end
} ${id}_place;
$   if masked then
$     local own_biases = shape.mask.heads == "each"
$     if biased then

/* Where the biases of some rows lie, from the place's block on. Behind the last row's: those once more, for
 * a tile that looks ahead. */
static ${ID}_CODE void ${id}_find_biases(const ${id}_place *place, size_t rows)
{
    const ${name}_call *const call = place->call;
    for (size_t r = 0; r < rows; r++) {
        const size_t row = place->first_row + r;
        place->bias[r] = call->bias + row / ${group} * call->bias_stride + (size_t)place->block${own_biases and (" +\n            (place->kv_head * %d + row %% %d) * call->bias_head_stride"):format(group, group) or ""};
    }
    for (size_t r = rows; r < rows + ${own.score_rows}; r++)
        place->bias[r] = place->bias[rows - 1];
}
$     end
$     if biased then

/* Which of 32 biases are not -infinity: a bit each. Sets *low if some are finite, but below -2^126. */
static inline ${ID}_CODE uint32_t ${id}_not_hidden(const float *bias, uint32_t *low)
{
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t number;
        memcpy(&number, bias + i, sizeof number);
        bits |= (uint32_t)(number != 0xff800000u) << i;
        *low |= (uint32_t)(number - 0xfe800001u < 0x00ffffffu);
    }
    return bits;
}

/* Scores of a row whose biases are below -2^126 are not below the least float: with the least ones, which
 * mean to hide keys, a row sees all of them alike, where nothing else is left. */
static ${ID}_CODE void ${id}_hold_up(float *s, const float *bias, int begin, int end)
{
    for (int j = begin; j < end; j++)
        if (bias[j] < ${float(-2.0 ^ 126)} && s[j] < -3.40282347e+38f)
            s[j] = -3.40282347e+38f;
}

/* Whether all biases of the keys begin .. end - 1 are within 2^126, for all of some rows: products with 4 show it. */
static ${ID}_CODE int ${id}_all_moderate(const float *const *bias, int rows, int begin, int end)
{
$       local together = math.max(4, sums) -- vectors in flight
    const ${vec} four = ${set1("4.0f")};
    ${vec} ${each(together, function(i) return ("sum%d = %s"):format(i, zero()) end)};
    float rest = 0.0f, sum[16];
    for (int r = 0; r < rows; r++) {
        const float *const row = bias[r];
        int j = begin;
        for (; j + ${together * W} <= end; j += ${together * W}) {
$       for i = 0, together - 1 do
            sum${i} = ${fma(load(at("row + j", i * W)), "four", "sum" .. i)};
$       end
        }
        for (; j < end; j++)
            rest += row[j] * 4.0f;
    }
$       for i = sums, together - 1 do
    sum${i % sums} = ${add("sum" .. i % sums, "sum" .. i)};
$       end
$       for i = 0, sums - 1 do
    ${store(at("sum", i * W), "sum" .. i)};
$       end
    rest += ${fold("sum")};
    return rest - rest == 0.0f;
}
$     else

/* Which of 32 bytes are not 0: a bit each */
static inline ${ID}_CODE uint32_t ${id}_not_hidden(const unsigned char *mask)
{
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    const uint64_t gather = UINT64_C(0x8040201008040201); /* bits 0, 8, ... side by side, on top */
#else
    const uint64_t gather = UINT64_C(0x0102040810204080);
#endif
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ones = UINT64_C(0x0101010101010101);
    uint32_t bits = 0;
    for (int i = 0; i < 32; i += 8) {
        uint64_t x;
        memcpy(&x, mask + i, sizeof x);
        x = (((x & low) + low) | x) >> 7 & ones;
        bits |= (uint32_t)(x * gather >> 56) << i;
    }
    return bits;
}

/* Whether all of 32 bytes are 1, as those of most masks are */
static inline ${ID}_CODE int ${id}_all_ones(const unsigned char *mask)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t ${each(4, function(i) return "x" .. i end)};
$       for i = 0, 3 do
    memcpy(&x${i}, ${at("mask", 8 * i)}, 8);
$       end
    return ((x0 ^ ones) | (x1 ^ ones) | (x2 ^ ones) | (x3 ^ ones)) == 0;
}
$     end

$     if not biased then
/* A row's mask from the place's block on; the call has one. */
static inline ${ID}_CODE const unsigned char *${id}_mask(const ${id}_place *place, size_t r)
{
    return place->call->mask + (place->first_row + r) / ${group} * place->call->mask_stride + (size_t)place->block;
}

$     end
/* Of the keys begin .. end - 1 of the place's block, takes those from row r that its ${biased and "biases hide" or "mask hides"}. */
static ${ID}_CODE void ${id}_hide(const ${id}_place *place, size_t r, int begin, int end)
{
    const ${biased and "float" or "unsigned char"} *const row = ${biased and "place->bias[r]" or id .. "_mask(place, r)"};
    uint32_t *const seen = place->seen + r * ${WORDS};
    const int words = end / 32;
    uint32_t hidden = 0${biased and ", low = 0" or ""};
    for (int w = begin / 32; w < words; w++) {
$     if not biased then
        if (${id}_all_ones(row + w * 32))
            continue;
$     end
        const uint32_t bits = ${id}_not_hidden(row + w * 32${biased and ", &low" or ""});
        hidden |= seen[w] & ~bits;
        seen[w] &= bits;
    }
    if (end % 32 != 0) {
        ${biased and "float" or "unsigned char"} rest[32] = {0};
        memcpy(rest, row + words * 32, (size_t)(end % 32) * sizeof *rest);
        const uint32_t bits = ${id}_not_hidden(rest${biased and ", &low" or ""});
        hidden |= seen[words] & ~bits;
        seen[words] &= bits;
    }
    place->hides[r] |= ${biased and "low << 1 | (hidden != 0)" or "hidden != 0"};
}
$     if biased then

/* The same of the keys begin .. end - 1, for some rows from r on, whose limits these are. */
static ${ID}_CODE void ${id}_hide_from(const ${id}_place *place, size_t r, int rows, const int *limit, int begin, int end)
{
    const float *const *const bias = (const float *const *)place->bias + r;
    /* most often all rows see these keys, and nothing hides any */
    if (limit[0] >= end && ${id}_all_moderate(bias, rows, begin, end))
        return;
    for (int i = 0; i < rows; i++) {
        const int stop = limit[i] < end ? limit[i] : end;
        if (stop > begin && !${id}_all_moderate(bias + i, 1, begin, stop))
            ${id}_hide(place, r + (size_t)i, begin, stop);
    }
}
$     end

/* Which keys of the place's block each row sees by its limits${biased and "" or " and the caller's mask"}, into the place */
static ${ID}_CODE void ${id}_see(const ${id}_place *place, size_t rows, ${limits_parameter})
{
    for (size_t r = 0; r < rows; r++) {
        uint32_t *const seen = place->seen + r * ${WORDS};
        const int count = limit[r], words = count / 32;
$     if windowed then
        const int begin = from[r] / 32;
$     end
$     if group > 1 and not biased then
        if (r > 0 && (place->first_row + r) % ${group} != 0) { /* another head at the same position */
            memcpy(seen, seen - ${WORDS}, ${WORDS} * sizeof *seen);
            place->hides[r] = place->hides[r - 1];
            continue;
        }
$     end
        for (int w = 0; w < ${WORDS}; w++)
            seen[w] = ${windowed and "w >= begin && " or ""}w < words ? 0xffffffffu : 0;
        place->hides[r] = 0;
        if (${windowed and "from[r] >= count" or "count == 0"})
            continue; /* its limits leave no key of the block */
        if (count % 32 != 0)
            seen[words] = (1u << count % 32) - 1u;
$     if windowed then
        seen[begin] &= ~((1u << from[r] % 32) - 1u);
$     end
$     if not biased then
        if (place->call->mask != NULL)
            ${id}_hide(place, r, ${windowed and "from[r]" or "0"}, count);
$     end
    }
}

/* Notes which of some rows see a key of the place's block, in the end. Whether any does. */
static ${ID}_CODE int ${id}_note_seen(${id}_place *place, size_t rows, ${limits_parameter})
{
    uint32_t total = 0;
    for (size_t r = 0; r < rows; r++) {
        uint32_t some = ${windowed and "from[r] < limit[r]" or "limit[r] > 0"};
        if (place->hides[r] != 0) {
            some = 0;
            for (size_t w = 0; w < ${WORDS}; w++)
                some |= place->seen[r * ${WORDS} + w];
        }
        place->any[r] |= some != 0;
        total |= some;
    }
    place->first &= total == 0;
    return total != 0;
}

/* a if `yes` is 1, b if it is 0: by arithmetic, since a branch would be mispredicted */
static inline ${ID}_CODE const float *${id}_either(uint32_t yes, const float *a, const float *b)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return (const float *)(y ^ ((x ^ y) & (0u - (uintptr_t)yes)));
}

/* Whether one of some rows sees a key of those that bit `word` of theirs stands for */
static inline ${ID}_CODE uint32_t ${id}_some_see(const uint32_t *seen, int rows, int word)
{
    uint32_t some = 0;
    for (int r = 0; r < rows; r++)
        some |= seen[r * ${WORDS} + word];
    return some;
}
$   end

$   if shape.relative_bias then
$     local right = shape.relative_bias.bidirectional
/* Writes the relative biases of the place's block for some rows: of a head at position p, those of
 * the block's keys begin at line + (last - p). */
static ${ID}_CODE void ${id}_relative(${id}_place *place, size_t rows)
{
    /* of the distances 0, 1, ... to the left${right and (", and, %d on, to the right"):format(bucket_side) or ""} */
    static const ${bucket_side > 256 and "uint16_t" or "uint8_t"} buckets[] = {
$     for i = 1, #buckets, 16 do
        ${table.concat(buckets, ", ", i, math.min(i + 15, #buckets))},
$     end
    };
    const size_t first = place->first_row / ${group}, last = (place->first_row + rows - 1) / ${group};
    place->last = place->call->pos + (ptrdiff_t)last;
    for (size_t head = 0; head < ${group}; head++) {
        const float *const biases = place->call->relative_bias + place->kv_head * ${group} + head;
        float *const line = place->line + head * ${own.relative_line};
        for (size_t i = 0; i < ${BLOCK} + last - first; i++) {
            const ptrdiff_t after = place->block + (ptrdiff_t)i - place->last; /* key - query */
$     if right then
            const ptrdiff_t apart = after < 0 ? -after : after;
            const size_t bucket = buckets[apart < ${#buckets - 1} ? apart : ${#buckets - 1}] + (after > 0 ? ${bucket_side}u : 0u);
$     else
            const size_t bucket = buckets[after >= 0 ? 0 : after > -${#buckets - 1} ? -after : ${#buckets - 1}];
$     end
            line[i] = biases[bucket * ${shape.heads}];
        }
    }
}

$   end
$   if biased then
/* s += bias * log2 e for some rows, whose limits and biases these are, and the keys begin .. end - 1 */
static ${ID}_TILE void ${id}_add_biases(float *s, int rows, const int *limit, const float *const *bias, int begin, int end)
{
    for (int r = 0; r < rows; r++, s += ${STRIDE}) {
        const int stop = limit[r] < end ? limit[r] : end;
        int j = begin;
        for (; j + ${W} <= stop; j += ${W})
            ${store("s + j", fma(load("bias[r] + j"), set1(float(LOG2_E)), load("s + j")))};
$     if W > 1 then
        if (j < stop) {
            float rest[${W}] = {0};
            memcpy(rest, bias[r] + j, (size_t)(stop - j) * sizeof(float));
            ${store("s + j", fma(load("rest"), set1(float(LOG2_E)), load("s + j")))};
        }
$     end
    }
}

$   end
/* Changes the scores of one block before the softmax takes them, of the keys that each of `rows` rows sees,
 * the first of which is the place's row `row`:
$   if shape.softcap then
 * soft cap${shape.alibi and ", then" or ""}
$   end
$   if shape.alibi then
 * ALiBi: plus slope * (position of the key - position of the query)
$   end
$   if shape.relative_bias then
 * ${(shape.softcap or shape.alibi) and "then " or ""}plus relative bias * log2 e
$   end
$   if biased and changes then
 * then plus bias * log2 e
$   end
$   if masked then
 * keys that are not seen: -infinity
$   end
 */
static ${ID}_TILE void ${id}_adjust(float *s, int row, int rows, ${limits_parameter}${place_parameter})
{
$   if shape.alibi then
    /* of the heads, times log2 e */
    static const float slopes[] = {
$     for i = 1, #alibi_slopes, 4 do
        ${table.concat(alibi_slopes, ", ", i, math.min(i + 3, #alibi_slopes))},
$     end
    };
    static const float lane[] = {${each(W, function(i) return float(i + 0.0) end)}};
$   elseif not masked and not shape.relative_bias then
    (void)row, (void)place;
$   end
$   if changes and masked then
    float *const scores = s;
$   end
$   if changes then
    for (int r = 0; r < rows; r++, s += ${STRIDE}) {
        int j = ${windowed and "from[r] / 16 * 16" or "0"};
$   end
$   if shape.alibi or shape.relative_bias then
        const size_t at = place->first_row + (size_t)(row + r);
$   end
$   if shape.alibi then
        const ptrdiff_t before = place->block + j - (place->call->pos + (ptrdiff_t)(at / ${group}));
        const ${vec} slope = ${set1(("slopes[place->kv_head * %d + at %% %d]"):format(group, group))};
        ${vec} distance = ${add(set1("(float)before"), load("lane"))};
$   end
$   if shape.relative_bias then
        const float *const line = place->line + at % ${group} * ${own.relative_line} +
            (place->last - place->call->pos - (ptrdiff_t)(at / ${group}));
$   end
$   if changes then
        for (; j < limit[r]; j += ${W}) {
            ${vec} x = ${load("s + j")};
$   end
$   if shape.softcap then
            x = ${call("soft_cap", "x")};
$   end
$   if shape.alibi then
            x = ${fma("slope", "distance", "x")};
            distance = ${add("distance", set1(float(W + 0.0)))};
$   end
$   if shape.relative_bias then
            x = ${fma(load("line + j"), set1(float(LOG2_E)), "x")};
$   end
$   if changes then
            ${store("s + j", "x")};
        }
    }
$   end
$   if changes and masked then
    s = scores;
$   end
$   if masked then
    for (int r = 0; r < rows; r++, s += ${STRIDE}) {
$     if biased and changes then
        if (place->bias != NULL)
            ${id}_add_biases(s, 1, limit + r, (const float *const *)place->bias + row + r, ${windowed and "from[r] / 16 * 16" or "0"}, ${BLOCK});
$     end
$     if biased then
        if (place->hides[row + r] > 1)
            ${id}_hold_up(s, place->bias[row + r], ${windowed and "from[r]" or "0"}, limit[r]);
$     end
        for (int j = ${windowed and "from[r] / 32 * 32" or "0"}; place->hides[row + r] && j < limit[r]; j += 32) {
            const uint32_t seen = place->seen[(row + r) * ${WORDS} + j / 32];
            if (seen == 0)
                for (int i = 0; i < 32; i += ${W})
                    ${store("s + j + i", negative_infinity())};
            else if (seen != 0xffffffffu)
                for (int i = 0; i < 32; i++) {
                    uint32_t number;
                    memcpy(&number, s + j + i, sizeof number);
                    number = seen >> i & 1u ? number : 0xff800000u; /* -infinity */
                    memcpy(s + j + i, &number, sizeof number);
                }
        }
    }
$   end
}
$ end
$
$ -- A score tile: rows of queries times vectors of keys. `biased_by`: with their biases added, while the
$ -- cache fetches the next ones, some lines with each loop body.
$ -- where the j-th vector of keys lies, in floats, from the first one of the tile
$ local function key_offset(j) return j * W // TILE * TILE * hd + j * W % TILE end
$ local score_tiles = {}
$ local function score_tile(rows, vectors, lines, biased_by)
$   local id_tile = ("score_%dx%d"):format(rows, vectors) .. (lines and "_ahead_" .. lines or biased_by and "_biased" or "")
$   if score_tiles[id_tile] then return id_tile end
$   score_tiles[id_tile] = true
$   -- clang spills longer bodies with prefetches
$   local unroll = math.min(own.unroll, lines and 4 or rows == own.score_rows and own.unroll or 8)

/* scores of ${rows} rows and ${vectors * W} keys: s[i][j] = sum over d of q[i][d] * k[d][j], in order of d${biased_by and "," or " */"}
$   if biased_by then
 * then plus bias[i][key + j] * log2 e.${has.prefetch and " Next come biases that lie `next` bytes behind next_bias[i]." or ""} */
$   end
static ${ID}_TILE void ${id}_${id_tile}(const float *q, const float *k, float *s${ahead_parameter(lines)}${biased_by and (", const float *const *bias, int key" .. (has.prefetch and ", const float *const *next_bias, uintptr_t next" or "")) or ""})
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
$   local fetched, advance = 0, 0 -- lines of biases in one loop body; bytes of a row's
$   if biased_by and has.prefetch then
$     advance = math.max(1, vectors * W * 4 * unroll // whole)
$     fetched = rows * math.max(1, advance // 64)
$   end
$   for d = 0, unroll - 1 do
$     for line = (d * fetched + unroll - 1) // unroll, ((d + 1) * fetched + unroll - 1) // unroll - 1 do
        ${prefetch(("(uintptr_t)next_bias[%d] + next + %d"):format(line % rows, line // rows * 64))};
$     end
$     step(d)
$   end
$   if fetched > 0 then
        next += ${advance};
$   end
        q += ${unroll};
        k += ${unroll * TILE};
$   if lines then
        next += ${unroll * lines * 64};
$   end
    }
$   for d = 0, hd - whole - 1 do step(d) end
$   for i = 0, rows - 1 do
$     for j = 0, vectors - 1 do
$       if biased_by then
    s${i}_${j} = ${fma(load(("bias[%d] + key + %d"):format(i, j * W)), set1(float(LOG2_E)), ("s%d_%d"):format(i, j))};
$       end
    ${store(at("s", i * STRIDE + j * W), ("s%d_%d"):format(i, j))};
$     end
$   end
}
$   return id_tile
$ end
$ -- Whether values are stored. If not, a panel of them is made of the keys of a block for its rows.
$ local stored = not shape.values_in_keys
$ local wide_scores, narrow_scores, alone_scores = {}, {}, {}
$ local biased_scores = adds_biases and score_tile(own.score_rows, own.wide[own.score_rows], nil, true)
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

$   if masked then
/* o[i][c] = decay[i] * o[i][c] + sum over the first `keys` keys j that row i sees of p[i][j] * v[j][c], in order
 * of j; ${rows} rows, ${vectors * W} channels of a panel ${width} wide;
$   else
/* o[i][c] = decay[i] * o[i][c] + sum over keys ${windowed and "from[i] <= " or ""}j < limit[i] of p[i][j] * v[j][c], in order of j;
 * ${rows} rows, ${vectors * W} channels of a panel ${width} wide; limits never fall from row to row;
$   end
 * `first`: o is +0, whatever lies there */
static ${ID}_TILE void ${id}_${id_tile}(const float *p, const float *v, float *o, const float *decay,
                         ${keys_parameter}, int first${ahead_parameter(lines)})
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
$   if masked then
$     if rows > 1 then
    static const float zero = 0.0f, none[] = {
$       for first = 0, vectors * W - 1, 8 do
        ${each(math.min(8, vectors * W - first), function() return "-0.0f" end)},
$       end
    };
$     end
$     local function of_rows(operator) -- the words of all rows, joined
$       local words = {}
$       for i = 0, rows - 1 do words[#words + 1] = ("seen[%d]"):format(i * WORDS) end
$       return table.concat(words, operator)
$     end
    for (int j = 0; j < keys; j += 32, seen++) {
        const uint32_t all = ${of_rows(" & ")};
$     if rows > 1 then
        const uint32_t some = ${of_rows(" | ")};
$     end
        if (${rows > 1 and "some" or "all"} == 0) {
            p += 32;
            v += ${32 * width};
$     if lines then
            next += ${32 * lines * 64};
$     end
            continue;
        }
        for (int t = 0; t < 32; t += 4, p += 4, v += ${4 * width}) {
            if ((all >> t & 15u) == 15u) {
$     for t = 0, 3 do
                {
$       key(t, all, "            ")
                }
$     end
$     if lines then
$       for line = 0, 4 * lines - 1 do
                ${prefetch(("next + %d"):format(line * 64))};
$       end
$     end
            } else {
                /* exactly the keys that each row sees: for the others 0 is multiplied with -0, and o + -0
                 * is o. */
                for (int u = 0; u < 4; u++) {
                    if ((${rows > 1 and "some" or "all"} >> (t + u) & 1u) == 0)
                        continue;
$     for i = 0, rows - 1 do
                    {
$       if rows > 1 then
                        const uint32_t sees = seen[${i * WORDS}] >> (t + u) & 1u;
                        const float *const value = ${id}_either(sees, v + u * ${width}, none);
                        const float *const weight = ${id}_either(sees, ${at("p + u", i * STRIDE)}, &zero);
$       else
                        const float *const value = v + u * ${width}, *const weight = p + u;
$       end
                        const ${factor} p${i} = ${spread("*weight")};
$       for c = 0, vectors - 1 do
                        o${i}_${c} = ${fma_spread("p" .. i, load(at("value", c * W)), ("o%d_%d"):format(i, c))};
$       end
                    }
$     end
                }
            }
$     if lines then
            next += ${4 * lines * 64};
$     end
        }
    }
$   else
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
$       for _, call in ipairs(calls) do
$         call.tile = value_tile(rows, call.vectors, stored and panel.width or TILE)
$       end
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
$       if has.prefetch and stored and i <= panel.width // 16 then
$         call.lines = math.max(1, panel.width // 16 // #calls)
$         call.next_values = own.value_keys * (panel.width + (i - 1) * 16 * call.lines)
$       end
$       call.tile = value_tile(call.rows, call.vectors, stored and panel.width or TILE, call.lines)
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
$ if adds_biases then
$   local keys = own.wide[own.score_rows] * W

/* The same, plus their biases. limit and bias are those of the rows; next_bias: of the rows that come next,
 * with the keys from `next` on. */
static ${ID}_CODE void ${id}_biased_scores(int rows, const float *q, const float *k, float *s, int j, int end,
                               const int *limit, const float *const *bias, const float *const *next_bias, int next)
{
$   if not has.prefetch then
    (void)next_bias;
    (void)next;
$   end
    if (rows == ${own.score_rows})
        for (; j + ${keys} <= limit[0] && j < end; j += ${keys}${has.prefetch and ", next += " .. keys or ""})
            ${id}_${biased_scores}(q, ${keys % TILE == 0 and "k + (size_t)j * " .. hd or ("k + (size_t)(j / %d) * %d + j %% %d"):format(TILE, TILE * hd, TILE)}, s + j, bias, j${has.prefetch and ", next_bias, (uintptr_t)next * sizeof(float)" or ""});
    if (j < end) {
        ${id}_scores(rows, q, k, s, j, end);
        ${id}_add_biases(s, rows, limit, bias, j, end);
    }
}
$ end
$ for number, panel in ipairs(layout.panels) do

/* The values${#layout.panels > 1 and (" of panel %d"):format(number) or ""} of a tile of rows */
static ${ID}_CODE void ${id}_values_${number}(int rows, const float *p, const float *v, float *o, const float *decay,
                            ${keys_parameter}, int first)
{
    switch (rows) {
$   for i, rows in ipairs(tile_counts) do
    ${i == #tile_counts and "default" or "case " .. rows}:
$     for _, call in ipairs(value_calls[rows][number]) do
        ${id}_${call.tile}(p, ${at("v", call.column)}, ${at("o", call.column)}, decay, ${masked and "seen, keys" or limits_argument("")}, first);
$     end
        break;
$   end
    }
}
$ end
$ if not stored then
$   local written = {}
$   for _, panel in ipairs(layout.panels) do
$     panel.channels = math.min(panel.width, dv - panel.offset)
$     if not written[panel.channels] then
$       written[panel.channels] = true
$       local squares = has.transpose and panel.channels // W * W or 0

/* The values of keys from .. end - 1 of a block, ${panel.channels} channels of key tiles, the first one at k: v [keys][${TILE}] */
static ${ID}_CODE void ${id}_gather_${panel.channels}(const float *k, int from, int end, float *v)
{
    for (int j = from / ${W} * ${W}; j < end; j += ${W}) {
        const float *const tile = k + (size_t)(j / ${TILE}) * ${TILE * hd} + j % ${TILE};
        float *const target = v + (size_t)j * ${TILE};
$       if squares > 0 then
        for (int c = 0; c < ${squares}; c += ${W})
            ${transpose(("tile + c * %d"):format(TILE), tostring(TILE), "target + c")};
$       end
$       if squares < panel.width then
        for (int r = 0; r < ${W}; r++)
            for (int c = ${squares}; c < ${panel.width}; c++)
                target[r * ${TILE} + c] = ${panel.channels < panel.width and ("c < %d ? tile[c * %d + r] : 0.0f"):format(panel.channels, TILE) or ("tile[c * %d + r]"):format(TILE)};
$       end
    }
}
$     end
$   end
$ end
$ -- what a block's functions know of its values: where they lie, or where to make them
$ local values_parameter = stored and "int block_keys" or "float *v"
$ local values_argument = stored and "block_keys" or "v"
$ for _, rows in ipairs(own.rows) do

/* One block of keys for ${rows} rows where no other rows read them: in one forward stream. */
static ${ID}_CODE void ${id}_alone_${rows}(const float *q, const float *kv, ${values_parameter}, float *s, float *o, float *m,
                            float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
    const int keys = limit[${rows - 1}];
$   if biased then
    if (place->bias != NULL)
        ${id}_hide_from(place, 0, ${rows}, limit, ${windowed and "from[0]" or "0"}, keys);
$   end
$   if masked then
    if (!${id}_note_seen(place, ${rows}, ${limits_argument("")}))
        return;
$   end
$   if stored then
    const float *const v = kv + (size_t)block_keys * ${hd};
$   end
    for (int j = ${windowed and ("from[0] / %d * %d"):format(TILE, TILE) or "0"}; j < keys; j += ${TILE}) {
        const float *const k = kv + (size_t)j * ${hd};
$   if masked then
        if (${id}_some_see(place->seen, ${rows}, j / 32) == 0)
            continue;
$   end
$   for _, call in ipairs(alone_scores[rows]) do
        ${id}_${call.tile}(${at("q", call.row * own.query_stride)}, ${at("k", call.column)}, ${at("s + j", call.row * STRIDE + call.column)}${ahead_argument(call.lines, "k", call.next_keys)});
$   end
    }
$   if adds_biases then
    if (place->bias != NULL)
        ${id}_add_biases(s, ${rows}, limit, (const float *const *)place->bias, ${windowed and "from[0] / 16 * 16" or "0"}, keys);
$   end
$   if adjusts then
    ${id}_adjust(s, 0, ${rows}, ${limits_argument("")}, place);
$   end
    ${id}_softmax(s, m, l, decay, ${rows}, ${limits_argument("")});
$   local start = windowed and "start" or "0"
$   if windowed and stored and not once[rows] then
    const int start = from[0] / ${CHUNK} * ${CHUNK};
$   end
$   for number, panel in ipairs(layout.panels) do
$     if not stored then
    ${id}_gather_${panel.channels}(${at("kv", panel.offset * TILE)}, ${windowed and "from[0]" or "0"}, keys, v);
$       for _, call in ipairs(alone_values[rows][number]) do
    ${id}_${call.tile}(${at("s", call.row * STRIDE)}, ${at("v", call.column)}, ${at("o", call.row * layout.value_width + panel.offset + call.column)}, ${at("decay", call.row)}, ${masked and at("place->seen", call.row * WORDS) .. ", keys" or limits_argument(call.row > 0 and " + " .. call.row or "")}, first);
$       end
$     elseif once[rows] then -- no need to stop now and then
$       local call = alone_values[rows][number][1]
$       if masked then
    ${id}_${call.tile}(s, ${panel_start(panel)}, ${at("o", panel.offset)}, decay, place->seen, keys, first${ahead_argument(call.lines, panel_start(panel), call.next_values)});
$       else
    ${id}_${call.tile}(s, ${panel_start(panel)}, ${at("o", panel.offset)}, decay, ${limits_argument("")}, first${ahead_argument(call.lines, panel_start(panel), call.next_values)});
$       end
$     else
    for (int j = ${start}; j < keys; j += ${CHUNK}) {
        static const float one[${rows}] = {${each(rows, function() return "1.0f" end)}};
        const float *const factor = j == ${start} ? decay : one;
$       if masked then
        const int some = keys - j < ${CHUNK} ? keys - j : ${CHUNK};
$       else
        int seen[${rows}];
        for (int i = 0; i < ${rows}; i++)
            seen[i] = ${within_chunk("limit[i]")};
$       end
$       if windowed and not masked then
        int since[${rows}];
        for (int i = 0; i < ${rows}; i++)
            since[i] = ${within_chunk("from[i]")};
$       end
$       for _, call in ipairs(alone_values[rows][number]) do
        ${id}_${call.tile}(${at("s + j", call.row * STRIDE)}, ${at(panel_start(panel, "j"), call.column)}, ${at("o", call.row * layout.value_width + panel.offset + call.column)},
            ${at("factor", call.row)}, ${masked and at("place->seen + j / 32", call.row * WORDS) .. ", some" or (windowed and at("since", call.row) .. ", " or "") .. at("seen", call.row)}, first && j == ${start}${ahead_argument(call.lines, panel_start(panel, "j"), call.next_values)});
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

/* One block of keys for some rows: scores, softmax, values${stored and "" or ", which lie in v once they are made"}. */
static ${ID}_CODE void ${id}_block(size_t rows, const float *q, const float *kv, ${values_parameter}, float *s, float *o,
                       float *m, float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
$ if stored then
    const float *const v = kv + (size_t)block_keys * ${hd};
$ end
    int tile;
    /* some keys for all rows, and then the next ones */
    for (int j = ${windowed and ("from[0] / %d * %d"):format(TILE, TILE) or "0"}; j < limit[rows - 1]; j += ${own.score_keys})
        for (size_t r = 0; r < rows; r += (size_t)tile) {
            int end;
            tile = ${id}_tile_rows(rows - r);
            end = limit[r + (size_t)tile - 1];
$ if masked then
            /* without the key tiles that no row sees */
            const uint32_t *const seen = place->seen + r * ${WORDS};
            const int stop = end < j + ${own.score_keys} ? end : j + ${own.score_keys};
$   if adds_biases then
            const int is_last = r + (size_t)tile >= rows;
$   end
$   if biased then
            if (place->bias != NULL)
                ${id}_hide_from(place, r, tile, limit + r, j, stop);
$   end
            for (int k = j; k < stop;) {
                const int start = k;
                while (k < stop && ${id}_some_see(seen, tile, k / 32) != 0)
                    k += 32;
$   if adds_biases then
                if (k > start && place->bias != NULL)
                    ${id}_biased_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, start, k < stop ? k : stop,
                        limit + r, (const float *const *)place->bias + r,
                        (const float *const *)place->bias + (is_last ? 0 : r + (size_t)tile), is_last ? start + ${own.score_keys} : start);
                else if (k > start)
$   else
                if (k > start)
$   end
                    ${id}_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, start, k < stop ? k : stop);
                while (k < stop && ${id}_some_see(seen, tile, k / 32) == 0)
                    k += 32;
            }
$ elseif windowed then
            const int start = from[r] / ${TILE} * ${TILE};
            ${id}_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, start > j ? start : j,
                end < j + ${own.score_keys} ? end : j + ${own.score_keys});
$ else
            ${id}_scores(tile, q + r * ${own.query_stride}, kv, s + r * ${STRIDE}, j,
                end < j + ${own.score_keys} ? end : j + ${own.score_keys});
$ end
        }
$ if masked then
    if (!${id}_note_seen(place, rows, ${limits_argument("")}))
        return;
$ end
$ if adjusts then
    /* so few rows at a time that their scores stay in the first cache, and no fewer than a vector has lanes
     * (16 at most): the softmax stores their decays by whole vectors */
    for (size_t r = 0; r < rows; r += 16) {
        const int some = rows - r < 16 ? (int)(rows - r) : 16;
        ${id}_adjust(s + r * ${STRIDE}, (int)r, some, ${limits_argument(" + r")}, place);
        ${id}_softmax(s + r * ${STRIDE}, m + r, l + r * 16, decay + r, some, ${limits_argument(" + r")});
    }
$ else
    ${id}_softmax(s, m, l, decay, (int)rows, ${limits_argument("")});
$ end
$ for number, panel in ipairs(layout.panels) do
$   if not stored then
    ${id}_gather_${panel.channels}(${at("kv", panel.offset * TILE)}, ${windowed and "from[0]" or "0"}, limit[rows - 1], v);
$   end
    for (size_t r = 0; r < rows; r += (size_t)tile) {
        tile = ${id}_tile_rows(rows - r);
        ${id}_values_${number}(tile, s + r * ${STRIDE}, ${stored and panel_start(panel) or "v"},
            ${at("o", panel.offset)} + r * ${layout.value_width}, decay + r, ${masked and ("place->seen + r * %d, limit[r + (size_t)tile - 1]"):format(WORDS) or limits_argument(" + r")}, first);
    }
$ end
}

/* Calls a row count's _alone function, or returns 0 where it has none. */
static ${ID}_CODE int ${id}_alone(size_t rows, const float *q, const float *kv, ${values_parameter}, float *s, float *o,
                      float *m, float *l, float *decay, ${limits_parameter}, int first${place_parameter})
{
    switch (rows) {
$ for _, rows in ipairs(own.rows) do
    case ${rows}:
        ${id}_alone_${rows}(q, kv, ${values_argument}, s, o, m, l, decay, ${limits_argument("")}, first${place_argument});
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
$ if not stored then
    float *const v = scratch + ${own.scratch.v}; /* [${BLOCK}][${TILE}]: a panel of a block's values */
$ end
    const float *const kv = call->kv + kv_head * call->kv_stride;
$ if ranged then
    const ptrdiff_t n_kv = (ptrdiff_t)(call->end_key < call->n_kv ? call->end_key : call->n_kv);
    const ptrdiff_t first_key = call->first_key < (size_t)n_kv ? (ptrdiff_t)call->first_key : n_kv;
$ else
    const ptrdiff_t n_kv = (ptrdiff_t)call->n_kv;
$ end
    ptrdiff_t end = n_kv; /* keys that the last row sees */
$ if biased then
    const float *bias[${own.scratch.rows + own.score_rows}];
$ end
$ if adjusts then
    ${id}_place place = {call, kv_head, first_row, 0${masked and (", (uint32_t *)(scratch + %d), (uint32_t *)(scratch + %d), (uint32_t *)(scratch + %d)"):format(own.scratch.seen, own.scratch.hides, own.scratch.any) .. ", 1" or ""}${biased and ", call->bias != NULL ? bias : NULL" or ""}${shape.relative_bias and (", scratch + %d, 0"):format(own.scratch.relative) or ""}};
$ end
$ if windowed then
$   if shape.window > 0 then
    ptrdiff_t start = call->pos + (ptrdiff_t)(first_row / ${group}) - ${shape.window - 1}; /* key that the first row sees first */
$   else
    ptrdiff_t start = first_key; /* that all rows see first */
$   end
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
$ if masked then
    memset(place.any, 0, rows * sizeof *place.any);
$ end
$ if reach then
    {
        const ptrdiff_t last = call->pos + (ptrdiff_t)((first_row + rows - 1) / ${group}) + ${reach};
        if (last < end)
            end = last;
    }
$ end

$ if windowed then
$   if ranged and shape.window > 0 then
    start = start < first_key ? first_key : start;
$   end
    start = start < 0 ? 0 : start / ${BLOCK} * ${BLOCK}; /* of its block */
$ end
    for (ptrdiff_t block = ${windowed and "start" or "0"}; block < end; block += ${BLOCK}) {
$ if ring then
        const size_t at = call->ring ? (size_t)block % ${ring * BLOCK} : (size_t)block;
        const float *const block_kv = kv + at * ${hd + layout.stored_values};
$ else
        const float *const block_kv = kv + (size_t)block * ${hd + layout.stored_values};
$ end
$ if not stored then
$ elseif ring then
        const int block_keys = call->ring || block < ${(layout.blocks - 1) * BLOCK} ? ${BLOCK} : ${layout.last_block_keys};
$ elseif layout.blocks > 1 then
        const int block_keys = block < ${(layout.blocks - 1) * BLOCK} ? ${BLOCK} : ${layout.last_block_keys};
$ else
        const int block_keys = ${layout.last_block_keys};
$ end
        for (size_t r = 0; r < rows; r++) {
            ptrdiff_t seen = n_kv - block;
$ if windowed and shape.window == 0 then
            const ptrdiff_t begin = first_key - block;
$ elseif windowed then
            ${ranged and "" or "const "}ptrdiff_t begin = call->pos + (ptrdiff_t)((first_row + r) / ${group}) - ${shape.window - 1} - block;
$   if ranged then
            begin = begin < first_key - block ? first_key - block : begin;
$   end
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
$ if shape.relative_bias then
        ${id}_relative(&place, rows);
$ end
$ local first_block = masked and "place.first" or windowed and "block == start" or "block == 0"
$ if biased then
        if (place.bias != NULL)
            ${id}_find_biases(&place, rows);
$ end
$ if masked then
        ${id}_see(&place, rows, ${limits_argument("")});
$ end
        if (!${id}_alone(rows, q, block_kv, ${values_argument}, s, o, m, l, decay, ${limits_argument("")}, ${first_block}${adjusts and ", &place" or ""}))
            ${id}_block(rows, q, block_kv, ${values_argument}, s, o, m, l, decay, ${limits_argument("")}, ${first_block}${adjusts and ", &place" or ""});
    }

    for (size_t r = 0; r < rows; r++) {
        const size_t position = (first_row + r) / ${group}, head = kv_head * ${group} + (first_row + r) % ${group};
        float *const target = call->out + (position * ${shape.heads} + head) * ${dv};
        const float *const source = o + r * ${layout.value_width};
$ if shape.lse then
        const float sum = ${fold("l + r * 16")};
        if (call->lse != NULL)
            call->lse[position * ${shape.heads} + head] = ${id}_lse(m[r], sum);
$ end
$ local blind = { masked and "place.any[r] == 0" or "n_kv == 0" }
$ if not masked and (ranged or shape.lse) and (reach or shape.window > 0) then
        const ptrdiff_t at = call->pos + (ptrdiff_t)position;
$ end
$ if ranged and not masked then
        const ptrdiff_t row_end = ${reach and ("at + %d < n_kv ? at + %d : n_kv"):format(reach, reach) or "n_kv"};
$   blind = { "row_end <= 0", "row_end <= first_key" }
$   if shape.window > 0 then blind[3] = ("row_end <= at - %d"):format(shape.window - 1) end
$ elseif not masked and shape.lse then
$   if reach then blind[#blind + 1] = ("at < %d"):format(1 - reach) end
$   if windowed then blind[#blind + 1] = ("at - %d >= n_kv"):format(shape.window - 1) end
$ elseif not masked and reach then
$   blind[2] = ("call->pos + (ptrdiff_t)position < %d"):format(1 - reach)
$ end
        if (${table.concat(blind, " || ")}) { /* no key is visible */
            memset(target, 0, ${dv} * sizeof(float));
            continue;
        }
$ if not shape.lse then
        const float sum = ${fold("l + r * 16")};
$ end
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

$ if stored then
/* Keys go to tiles of ${TILE}, [head_dim][${TILE}]; values to panels, [keys of the block][width]. A block of
 * ${BLOCK} keys is followed by its values. Channels past v_head_dim are zero. */
static ${ID}_CODE void ${id}_pack(const float *k, const float *v, size_t pos, size_t n, ${ring and "int ring, " or ""}float *kv)
$ else
/* Keys go to tiles of ${TILE}, [head_dim][${TILE}]. */
static ${ID}_CODE void ${id}_pack(const float *k, size_t pos, size_t n, ${ring and "int ring, " or ""}float *kv)
$ end
{
    for (size_t i = 0; i < n;) {
        const size_t block = (pos + i) / ${BLOCK}, key = (pos + i) % ${BLOCK};
$ if not stored then
$ elseif ring then
        const size_t block_keys = ring || block < ${layout.blocks - 1} ? ${BLOCK} : ${layout.last_block_keys};
$ elseif layout.blocks > 1 then
        const size_t block_keys = block < ${layout.blocks - 1} ? ${BLOCK} : ${layout.last_block_keys};
$ else
        const size_t block_keys = ${layout.last_block_keys};
$ end
        float *const block_kv = kv + ${ring and ("(ring ? block %% %d : block)"):format(ring) or "block"} * ${BLOCK * (hd + layout.stored_values)};
        float *const tile = block_kv + key / ${TILE} * ${TILE * hd} + key % ${TILE};
$ if stored then
        float *const values = block_kv + block_keys * ${hd};
$ end
        const float *const key_rows = k + i * ${shape.kv_heads * hd};
$ if stored then
        const float *const value_rows = v + i * ${shape.kv_heads * dv};
$ end
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
$ if stored then
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
$ end
        i += rows;
    }
}
