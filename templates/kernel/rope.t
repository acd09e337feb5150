$ -- Rotary positions.
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
$   if shape.mla then
/* Heads lie `stride` floats apart. */
static ${ID}_CODE void ${id}_rotate(float *x, size_t n, size_t heads, size_t stride, size_t pos${rope_switches and ", int is_long" or ""})
$   else
static ${ID}_CODE void ${id}_rotate(float *x, size_t n, size_t heads, size_t pos${rope_switches and ", int is_long" or ""})
$   end
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
        for (size_t head = 0; head < heads; head++, x += ${shape.mla and "stride" or hd}) {
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
