$ -- Partial results over different keys become one.
$ if shape.lse then

/* Rows of results [rows][${dv}] with their log-sum-exps: out and lse become those over the keys of both. A
 * side that saw no key leaves the bits of the other one. */
static ${ID}_CODE void ${id}_merge(float *out, float *lse, const float *other, const float *other_lse, size_t rows)
{
    for (size_t r = 0; r < rows; r++, out += ${dv}, other += ${dv}) {
        const float a = lse[r], b = other_lse[r];
        if (b < -FLT_MAX)
            continue;
        if (a < -FLT_MAX) {
            memcpy(out, other, ${dv} * sizeof(float));
            lse[r] = b;
            continue;
        }
        {
            /* the greater one has the weight 1, the lesser one e <= 1; NaN passes */
            const float *const greater = b > a ? other : out, *const lesser = b > a ? out : other;
            const float most = b > a ? b : a, below = (b > a ? a : b) - most;
            const ${vec} e = ${call("exp2", mul(set1("below"), set1(float(LOG2_E))))};
            const ${vec} sum = ${add(set1("1.0f"), "e")};
            const ${vec} more = ${div(set1("1.0f"), "sum")}, less = ${div("e", "sum")};
$   local whole, rest = dv // W * W, dv % W
$   local function merged(a, b) return fma(load(b), "less", mul(load(a), "more")) end
$   if whole > 0 then
            for (int c = 0; c < ${whole}; c += ${W})
                ${store("out + c", merged("greater + c", "lesser + c"))};
$   end
$   if rest > 0 then
            {
                float a_tail[${W}] = {0}, b_tail[${W}] = {0};
                memcpy(a_tail, ${at("greater", whole)}, ${rest} * sizeof(float));
                memcpy(b_tail, ${at("lesser", whole)}, ${rest} * sizeof(float));
                ${store("a_tail", merged("a_tail", "b_tail"))};
                memcpy(${at("out", whole)}, a_tail, ${rest} * sizeof(float));
            }
$   end
            lse[r] = most + ${id}_ln(${first("sum")});
        }
    }
}
$ end
