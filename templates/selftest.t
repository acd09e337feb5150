$ -- what the attention calls take besides, before `out`
$ local more = arguments.names(extras)
$ local layer_more = arguments.names(layer_extras)
$ -- the same for queries from `row` on, and without masks
$ local function from_row(list, row)
$   local texts = {}
$   for i, extra in ipairs(list) do
$     texts[i] = extra.name .. (extra.row_step and (" + (%s) * %s"):format(row, extra.row_step) or "") .. ", "
$   end
$   return table.concat(texts)
$ end
$ -- the same for keys from `key` on
$ local function from_key(list, key)
$   local texts = {}
$   for i, extra in ipairs(list) do
$     local range = extra.name == "first_key" or extra.name == "end_key"
$     texts[i] = (range and ("%s > %s ? %s - %s : 0"):format(extra.name, key, extra.name, key)
$       or extra.name .. (extra.row_step and " + " .. key or "")) .. ", "
$   end
$   return table.concat(texts)
$ end
$ local function unmasked(list)
$   local texts = {}
$   for i, extra in ipairs(list) do
$     texts[i] = (extra.none or extra.name) .. ", "
$   end
$   return table.concat(texts)
$ end
$ local masked, biased = shape.mask, shape.mask and shape.mask.type == "bias"
$ -- values that are channels of their keys are no argument
$ local function values(text) return shape.values_in_keys and "" or ", " .. text end
$ local plain_c = {} -- instruction sets without vectors
$ for _, each in ipairs(isas) do
$   if each.lanes == 1 then plain_c[#plain_c + 1] = each.id end
$ end
$ -- They would take minutes for all rows of a large layer at once, where their number is fixed.
$ local heavy = #plain_c > 0 and shape.exact and shape.emit ~= "attention" and memory.flops_prefill > 4e9
/* Checks ${name} against plain loops in double precision; needs nothing but the C library.
 *
 *     cc -O2 ${name}_*.c -o ${name}_selftest
 *     ./${name}_selftest [--time]${heavy and " [--all]" or ""} [ISA]
 *
 * Without ISA every instruction set written is checked that this CPU runs; the others are named
 * as skipped. --time also prints how fast each one is.${heavy and " --all does all of it in plain C, too." or ""} The last line is `N passed, N failed`, the
 * exit status 0 if none failed.
 *
 * The bound: a float operation is off by at most u = 2^-24 of its result. Next to each value the
 * reference adds up the variance of what the kernel may get: (u * partial sum)^2 for every step of
 * a chain, (u * product)^2 too where products are rounded before sums, and the variance of the
 * inputs times the square of their weight. A result passes within
 * BOUND = 8 times the root of that variance. The data are random, so the errors are independent,
 * and a single wrong term of a sum is far outside.
 */
#define ${NAME}_IMPLEMENTATION /* a single-file header brings the code along; others ignore it */
#include "${name}.h"

$ if biased then
#include <math.h> /* INFINITY */
$ end
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADS ((size_t)${NAME}_HEADS)
#define KV_HEADS ((size_t)${NAME}_KV_HEADS)
#define HEAD_DIM ((size_t)${NAME}_HEAD_DIM)
#define V_HEAD_DIM ((size_t)${NAME}_V_HEAD_DIM)
$ local source_width = shape.cross and "SOURCE" or "D_MODEL" -- of what keys and values are made of
$ local cache_attention = shape.cross and "CACHE_ATTENTION" or name .. "_cache_attention"
#define KV_CAPACITY ((size_t)${kv_capacity})
$ if shape.cross then
#define CAPACITY MIN((size_t)${NAME}_CAPACITY, KV_CAPACITY) /* that queries and keys have */
#define SOURCE ((size_t)${NAME}_SOURCE_D_MODEL)
/* Queries stand nowhere in the sequence of the keys. */
#define CACHE_ATTENTION(cache, pos, ...) ${name}_cache_attention(cache, __VA_ARGS__)
$ else
#define CAPACITY ((size_t)${NAME}_CAPACITY)
$ end
#define Q_ROW (HEADS * HEAD_DIM)
#define K_ROW (KV_HEADS * HEAD_DIM)
#define V_ROW (KV_HEADS * V_HEAD_DIM)
#define O_ROW (HEADS * V_HEAD_DIM)
$ if shape.mla then
/* The heads of the layer, with keys and values of their own. */
#define EXPANDED_KV_HEADS HEADS
#define EXPANDED_HEAD_DIM ((size_t)(${NAME}_MLA_NOPE_DIM + ${NAME}_MLA_ROPE_DIM))
#define EXPANDED_V_HEAD_DIM ((size_t)${NAME}_MLA_V_HEAD_DIM)
#define EXPANDED_Q_ROW (HEADS * EXPANDED_HEAD_DIM)
#define EXPANDED_K_ROW (HEADS * EXPANDED_HEAD_DIM)
#define EXPANDED_V_ROW (HEADS * EXPANDED_V_HEAD_DIM)
#define EXPANDED_O_ROW (HEADS * EXPANDED_V_HEAD_DIM)
$ end
$ if shape.emit ~= "attention" then
#define D_MODEL ((size_t)${NAME}_D_MODEL)
$ end

#define THREADS 3 /* of the pool that the tests bring */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Positions in the short tests, and in the long ones, which cross a block of 512 keys. */
#define SHORT MIN(CAPACITY, (size_t)(HEADS * (HEAD_DIM + V_HEAD_DIM) <= 32768 ? 70 : 20))
#define LONG MIN(CAPACITY, (size_t)517)
#define TAIL MIN(CAPACITY, (size_t)5) /* queries at the end of a long sequence */
$ if layout.cache.ring then
#define ROUND MIN(CAPACITY, (size_t)(${NAME}_CACHE_POSITIONS + 517)) /* goes round a ring cache */
$ end
#define MOST (${NAME}_EXACT ? CAPACITY : LONG)

#define BOUND 8.0
#define UNIT (1.0 / 16777216.0) /* u; variances are kept in units of u * u */

typedef struct estimate {
    double value, variance;
} estimate;

/* ---- counting ---- */

static const char *isa = "";
static double apart; /* 1 if the instruction set rounds products before sums, else 0 */
static unsigned passed, failed;
static double worst_share;          /* largest error seen, as a share of its bound, squared */
static double worst_error;          /* largest error seen */
static unsigned long long bits = 0; /* hash of every output, to compare instruction sets */
$ if heavy then
static int patient; /* whether plain C runs what takes it minutes */
$ end

/* Whether a word is in a list of words with single spaces between them. */
static int listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    while (strncmp(list, word, length) != 0 || (list[length] != ' ' && list[length] != '\0')) {
        list = strchr(list, ' ');
        if (list == NULL)
            return 0;
        list++;
    }
    return 1;
}

static void check(int good, const char *what)
{
    if (good) {
        passed++;
    } else {
        failed++;
        printf("%s: FAILED: %s\n", isa, what);
    }
}

static void hash(const float *data, size_t count)
{
    size_t i;
    int shift;
    for (i = 0; i < count; i++) {
        uint32_t number;
        memcpy(&number, data + i, sizeof number);
        for (shift = 0; shift < 32; shift += 8) /* FNV-1a, the same for either order of bytes */
            bits = (bits ^ (number >> shift & 0xFFU)) * 1099511628211ULL;
    }
}

/* ---- memory ---- */

enum { CANARY = 64, CANARY_BYTE = 0xA5 };

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        printf("out of memory: %lu bytes\n", (unsigned long)bytes);
        exit(1);
    }
    return memory;
}

static float *floats(size_t count)
{
    return (float *)allocate(count * sizeof(float));
}

/* Memory for the kernel's own use, aligned, filled with NaN bits and followed by a canary. */
typedef struct block {
    void *base, *data;
    size_t bytes;
} block;

static block block_new(size_t bytes)
{
    block made;
    unsigned char *at;
    made.base = allocate(bytes + ${NAME}_ALIGN + CANARY);
    at = (unsigned char *)made.base;
    while ((size_t)at % ${NAME}_ALIGN != 0)
        at++;
    made.data = at;
    made.bytes = bytes;
    memset(at, 0xFF, bytes);
    memset(at + bytes, CANARY_BYTE, CANARY);
    return made;
}

static void block_free(block used, const char *what)
{
    const unsigned char *after = (const unsigned char *)used.data + used.bytes;
    int whole = 1;
    size_t i;
    for (i = 0; i < CANARY; i++)
        whole = whole && after[i] == CANARY_BYTE;
    check(whole, what);
    free(used.base);
}

/* ---- data ---- */

static unsigned long random_state;

/* Uniform in [-scale, scale); the same numbers everywhere. */
static void fill(float *data, size_t count, float scale)
{
    size_t i;
    for (i = 0; i < count; i++) {
        random_state = (random_state * 1664525UL + 1013904223UL) & 0xFFFFFFFFUL;
        data[i] = ((float)(random_state >> 8) / 8388608.0f - 1.0f) * scale;
    }
}

static float *random_floats(size_t count, float scale, unsigned long seed)
{
    float *data = floats(count);
    random_state = seed;
    fill(data, count, scale);
    return data;
}

static estimate *exact(const float *data, size_t count)
{
    estimate *made = (estimate *)allocate(count * sizeof(estimate));
    size_t i;
    for (i = 0; i < count; i++) {
        made[i].value = (double)data[i];
        made[i].variance = 0.0;
    }
    return made;
}

static int same(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static int close_to(const float *got, const estimate *want, size_t count)
{
    int good = 1;
    size_t i;
    for (i = 0; i < count; i++) {
        const double error = (double)got[i] - want[i].value;
        const double allowed = BOUND * BOUND * UNIT * UNIT * want[i].variance;
        if (!(error * error <= allowed)) /* NaN fails */
            good = 0;
        if (allowed > 0.0)
            worst_share = MAX(worst_share, error * error / allowed);
        worst_error = MAX(worst_error, error < 0.0 ? -error : error);
    }
    return good;
}

/* ---- the reference ---- */

/* e^x for x up to 700: halve the argument until the series is short, then square. */
static double exponential(double x)
{
    double term = 1.0, sum = 0.0;
    int n;
    if (x < 0.0) /* small results keep their digits */
        return x < -700.0 ? 0.0 : 1.0 / exponential(-x);
    x /= 1024.0;
    for (n = 1; n <= 10; n++) {
        term *= x / n;
        sum += term; /* e^x - 1, which keeps its digits where 1 + sum would not */
    }
    for (n = 0; n < 10; n++)
        sum = sum * (sum + 2.0);
    return sum + 1.0;
}

$ if shape.rope or shape.lse or shape.relative_bias then
/* Natural logarithm by Newton's method. */
static double logarithm(double x)
{
    double y = 0.0;
    int n;
    while (exponential(y) < x)
        y += 1.0;
    for (n = 0; n < 6; n++)
        y += x * exponential(-y) - 1.0;
    return y;
}

$ end
$ if shape.sinks then

static float sinks[HEADS];

static double sink_of(size_t head)
{
    return (double)sinks[head];
}
$ end
$ if shape.key_range then

static const size_t first_key = 3, end_key = 515;
$ end
$ if masked then
$   local name, type = biased and "bias" or "mask", biased and "float" or "unsigned char"

/* ${biased and "Biases" or "A mask"} for up to MOST queries and keys.${shape.mask.heads and " The heads' own ones overlap." or ""} */
static ${type} *${name};
static const size_t ${name}_stride = ${layout.cache.ring and "MAX(MOST, ROUND)" or "MOST"}${shape.mask.heads and ", bias_head_stride = 7" or ""};

static void make_${name}(void)
{
    const size_t count = MOST * ${name}_stride${shape.mask.heads and " + (HEADS - 1) * bias_head_stride" or ""};
    size_t i;
    ${name} = (${type} *)allocate(count * sizeof *${name});
$   if biased then
    random_state = 24;
    fill(bias, count, 3.0f);
$   end
    /* a row sees every key, none, every other 16, or what chance says */
    random_state = 25;
    for (i = 0; i < count; i++) {
        const size_t row = i / ${name}_stride;
        random_state = (random_state * 1664525UL + 1013904223UL) & 0xFFFFFFFFUL;
$   if biased then
        if (row % 8 == 3 || (row % 8 == 4 && i % 32 < 16) || (row % 8 > 4 && random_state >> 30 == 0))
            bias[i] = -INFINITY;
$   else
        mask[i] = !(row % 8 == 3 || (row % 8 == 4 && i % 32 < 16) || (row % 8 > 4 && random_state >> 30 == 0));
$   end
    }
}

static int sees(size_t row, size_t head, size_t j)
{
$   if not shape.mask.heads then
    (void)head;
$   end
$   if biased then
    return bias[${shape.mask.heads and "head * bias_head_stride + " or ""}row * bias_stride + j] >= -1e30f;
$   else
    return mask[row * mask_stride + j];
$   end
}
$ end
$ if shape.lse then

static float *lse; /* of the latest call */

static float minus_infinity(void)
{
    static const uint32_t pattern = 0xff800000U;
    float x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}
$ end
$ if shape.softcap then

/* c tanh(s / c): errors of s pass as far as the curve is steep. */
static void soft_cap(double *s, double *variance)
{
    const double c = ${NAME}_SOFTCAP, y = *s / c;
    const double e = exponential(y > 20.0 ? -40.0 : y < -20.0 ? 40.0 : -2.0 * y);
    const double t = (1.0 - e) / (1.0 + e), slope = 1.0 - t * t;
    *variance = slope * slope * (*variance + 2.0 * *s * *s) + 24.0 * c * c * t * t;
    *s = c * t;
}
$ end
$ if shape.alibi then

/* The paper's slope: 2^(-bias_max (h + 1) / p) for the greatest power of two p of heads, then every
 * second one of those for 2 p. */
static double slope_of(size_t head)
{
    size_t p = 1;
    double share;
    while (2 * p <= HEADS)
        p *= 2;
    share = head < p ? (double)(head + 1) / (double)p : (double)(2 * (head - p) + 1) / (double)(2 * p);
    return ${NAME}_ALIBI_SCALE * exponential(-0.69314718055994530942 * ${NAME}_ALIBI_BIAS_MAX * share);
}
$ end
$ if shape.relative_bias then

static float relative_bias[${NAME}_RELATIVE_BUCKETS * HEADS];

/* T5's bucket of a key so far to the right of the query */
static size_t bucket_of(double after)
{
    const size_t side = ${NAME}_RELATIVE_BUCKETS / (${NAME}_RELATIVE_BIDIRECTIONAL ? 2 : 1), exact = side / 2;
    const double d = after < 0.0 ? -after : ${NAME}_RELATIVE_BIDIRECTIONAL ? after : 0.0, e = (double)exact;
    const size_t own = ${NAME}_RELATIVE_BIDIRECTIONAL && after > 0.0 ? side : 0;
    size_t bucket = (size_t)d;
    if (d >= e && d < ${NAME}_RELATIVE_MAX_DISTANCE)
        bucket = exact + (size_t)(logarithm(d / e) / logarithm(${NAME}_RELATIVE_MAX_DISTANCE / e) *
                                      (double)(side - exact) + 1e-9);
    else if (d >= e)
        bucket = side - 1;
    return own + MIN(bucket, side - 1);
}
$ end
$ local placed = shape.alibi or shape.relative_bias
$ local place_parameter = placed and "double position, " or ""
$ local per_head = placed or shape.sinks or masked
$ local head_parameter = (masked and "size_t row, " or "") .. (per_head and "size_t head, " or "")

$ local function reference_of(of, P)
/* One query head over the keys first .. end - 1; weights[end] and variances[end] are room. */
static void reference_${of}head(${place_parameter}${head_parameter}const estimate *query, const estimate *k, const estimate *v,
                           size_t first, size_t end, size_t kv_head, double *weights,
                           double *variances, ${shape.lse and "estimate *log_sum, " or ""}estimate *out)
{
    const double scale = ${NAME}_SCALE;
    const double adding = (double)(end - first) / 16.0 + 16.0; /* roundings of the denominator */
    double most = 0.0, total = 0.0;
$ if shape.sinks then
    double sink_weight, sink_variance;
$ end
    size_t j, d;
$ if masked then
    int any = 0;
$ end
    for (j = first; j < end; j++) {
        const estimate *key = k + j * ${P}K_ROW + kv_head * ${P}HEAD_DIM;
        double sum = 0.0, variance = 0.0;
$ if masked then
        if (!sees(row, head, j))
            continue;
$ end
        for (d = 0; d < ${P}HEAD_DIM; d++) {
            const double a = query[d].value * scale, b = key[d].value;
            sum += a * b;
            variance += sum * sum + (2.0 + apart) * a * a * b * b + a * a * key[d].variance +
                        scale * scale * query[d].variance * b * b;
        }
$ if shape.softcap then
        soft_cap(&sum, &variance);
$ end
$ if shape.alibi then
        {
            const double slanted = slope_of(head) * ((double)j - position);
            sum += slanted;
            variance += sum * sum + (2.0 + apart) * slanted * slanted;
        }
$ end
$ if shape.relative_bias then
        {
            const double own = (double)relative_bias[bucket_of((double)j - position) * HEADS + head];
            sum += own;
            variance += sum * sum + (2.0 + apart) * own * own;
        }
$ end
$ if biased then
        {
            const double own = (double)bias[${shape.mask.heads and "head * bias_head_stride + " or ""}row * bias_stride + j];
            sum += own;
            variance += sum * sum + (2.0 + apart) * own * own;
        }
$ end
        weights[j] = sum;
        variances[j] = variance;
$ if masked then
        most = any ? MAX(most, sum) : sum;
        any = 1;
$ else
        most = j == first ? sum : MAX(most, sum);
$ end
    }
$ if masked then
    for (d = 0; !any && d < ${P}V_HEAD_DIM; d++)
        out[d].value = out[d].variance = 0.0;
$   if shape.lse then
    log_sum->value = ${shape.sinks and "sink_of(head)" or "(double)minus_infinity()"};
    log_sum->variance = ${shape.sinks and "8.0 * log_sum->value * log_sum->value" or "0.0"};
$   end
    if (!any)
        return;
$ end
$ if shape.sinks then
    most = first == end ? sink_of(head) : MAX(most, sink_of(head));
$ end
    for (j = first; j < end; j++) {
        const double below = weights[j] - most;
$ if masked then
        if (!sees(row, head, j)) {
            weights[j] = variances[j] = 0.0;
            continue;
        }
$ end
        weights[j] = exponential(below);
        variances[j] += below * below + 16.0; /* s - m rounds, and exp2 is good to a few u */
        total += weights[j];
    }
$ if shape.sinks then
    {
        const double sink = sink_of(head), below = sink - most;
        sink_weight = exponential(below);
        sink_variance = 2.0 * sink * sink + below * below + 16.0;
        total += sink_weight;
    }
$ end
$ if shape.lse then
    log_sum->value = total > 0.0 ? most + logarithm(total) : (double)minus_infinity();
    log_sum->variance = adding + 4.0 * (most * most + log_sum->value * log_sum->value);
    for (j = first; j < end; j++)
        log_sum->variance += weights[j] / total * weights[j] / total * variances[j];
$   if shape.sinks then
    log_sum->variance += sink_weight / total * sink_weight / total * sink_variance;
$   end
$ end
    for (d = 0; d < ${P}V_HEAD_DIM; d++) {
        double sum = 0.0, variance = 0.0;
        for (j = first; j < end; j++)
            sum += weights[j] / total * v[j * ${P}V_ROW + kv_head * ${P}V_HEAD_DIM + d].value;
        out[d].value = sum;
        variance = adding * sum * sum;
$ if shape.sinks then
        variance += sum * sum * sink_weight / total * sink_weight / total * sink_variance;
$ end
        sum = 0.0;
        for (j = first; j < end; j++) {
            const estimate channel = v[j * ${P}V_ROW + kv_head * ${P}V_HEAD_DIM + d];
            const double weight = weights[j] / total;
            const double pull = weight * (channel.value - out[d].value);
            sum += weight * channel.value;
            variance += sum * sum + pull * pull * variances[j] + weight * weight * channel.variance +
                        apart * weight * weight * channel.value * channel.value;
            variance += 5.5e-76; /* (2^-149 / u)^2: products below the normal range */
            if (weights[j] < ${("%.9g"):format(2.0 * (plan.biased(shape) and 2.0 ^ -96 or 2.0 ^ -126))}) /* exp2 may give 0: off by the whole weight */
                variance += 281474976710656.0 * weight * weight * channel.value * channel.value;
        }
        out[d].variance = variance;
    }
}

/* Query row i of n_q, which ends where the n_kv keys end: all its heads, out[${P}O_ROW]. */
static void reference_${of}row(const estimate *q, const estimate *k, const estimate *v, size_t i,
                          size_t n_q, size_t n_kv, ${shape.lse and "estimate *log_sums, " or ""}estimate *out)
{
    const size_t right = ${NAME}_CAUSAL ? 1 : ${NAME}_WINDOW_RIGHT, left = ${NAME}_WINDOW;
    const size_t up_to = n_kv + i + right > n_q ? n_kv + i + right - n_q : 0;
$ if shape.key_range then
    const size_t held = MIN(n_kv, end_key), end = right > 0 ? MIN(up_to, held) : held;
$ else
    const size_t end = right > 0 ? MIN(up_to, n_kv) : n_kv;
$ end
    const size_t before = n_q + left; /* the first key is n_kv + i + 1 - before */
$ if shape.key_range then
    const size_t in_window = left > 0 && n_kv + i + 1 > before ? n_kv + i + 1 - before : 0;
    const size_t first = MIN(MAX(in_window, first_key), end);
$ else
    const size_t first = left > 0 && n_kv + i + 1 > before ? n_kv + i + 1 - before : 0;
$ end
    double *weights = (double *)allocate(2 * n_kv * sizeof(double));
    size_t h;
    for (h = 0; h < HEADS; h++)
        reference_${of}head(${placed and "(double)(n_kv + i) - (double)n_q, " or ""}${masked and "i, " or ""}${per_head and "h, " or ""}q + i * ${P}Q_ROW + h * ${P}HEAD_DIM, k, v, first, end, h * ${P}KV_HEADS / HEADS, weights,
                       weights + n_kv, ${shape.lse and "log_sums + h, " or ""}out + h * ${P}V_HEAD_DIM);
    free(weights);
}
$ end
$ reference_of("", "")
$ if shape.mla then

$   reference_of("expanded_", "EXPANDED_")
$ end

/* How far apart the rows are that the reference computes: some 2^24 products a test. */
static size_t row_step(size_t n_q, size_t n_kv)
{
    const size_t row = HEADS * (HEAD_DIM + V_HEAD_DIM) * n_kv;
    const size_t rows = 16777216 / MAX(row, (size_t)1);
    return rows >= n_q ? 1 : n_q / MAX(rows, (size_t)2);
}

$ if shape.lse then
/* The log-sum-exps of one query; that of nothing is -infinity. */
static int close_sums(const float *got, const estimate *want)
{
    int good = 1;
    size_t h;
    for (h = 0; h < HEADS; h++)
        good = (want[h].value < -1e300 ? got[h] < -3.4e38f : close_to(got + h, want + h, 1)) && good;
    return good;
}

$ end
static void check_rows(const float *got, const float *q, const float *k, const float *v,
                       size_t n_q, size_t n_kv, const char *what)
{
    estimate *q_exact = exact(q, n_q * Q_ROW);
    estimate *k_exact = exact(k, n_kv * K_ROW), *v_exact = exact(v, n_kv * V_ROW);
    estimate *want = (estimate *)allocate(O_ROW * sizeof(estimate));
$ if shape.lse then
    estimate log_sums[HEADS];
$ end
    const size_t step = row_step(n_q, n_kv);
    int good = 1;
    size_t left;
    for (left = n_q; left > 0; left -= MIN(step, left)) { /* from the last, which sees the most */
$ if shape.lse then
        reference_row(q_exact, k_exact, v_exact, left - 1, n_q, n_kv, log_sums, want);
        good = close_sums(lse + (left - 1) * HEADS, log_sums) && good;
$ else
        reference_row(q_exact, k_exact, v_exact, left - 1, n_q, n_kv, want);
$ end
        good = close_to(got + (left - 1) * O_ROW, want, O_ROW) && good;
    }
    check(good, what);
    free(q_exact);
    free(k_exact);
    free(v_exact);
    free(want);
}

/* ---- attention and cache ---- */
$ if shape.values_in_keys then

static float *values_of_keys(const float *k, size_t n)
{
    float *v = floats(n * V_ROW);
    size_t i;
    for (i = 0; i < n; i++)
        memcpy(v + i * V_ROW, k + i * K_ROW, V_ROW * sizeof *v);
    return v;
}
$ end

/* A pool without threads that runs its tasks last to first. */
static void run_backwards(void *self, void (*task)(void *, size_t), void *argument, size_t count)
{
    (void)self;
    while (count > 0)
        task(argument, --count);
}

static const ${name}_pool backwards = {NULL, THREADS, run_backwards};

static void test_attention(void)
{
    static const struct {
        size_t n_q, n_kv;
        float size; /* of q: large ones spread the scores, so that a few keys get all the weight */
    } sizes[] = {
$ if shape.exact then
        {CAPACITY, CAPACITY, 16.0f},
$ else
        {1, 1, 2.0f}, {17, 17, 2.0f}, {1, 33, 2.0f}, {3, 2, 2.0f}, {2, 0, 2.0f},
        {SHORT, SHORT, 2.0f}, {SHORT, SHORT, 16.0f}, {TAIL, LONG, 2.0f}, {TAIL, LONG, 64.0f},
$ end
    };
    block scratch = block_new(${NAME}_SCRATCH_BYTES);
    block shared = block_new(${NAME}_SCRATCH_BYTES_FOR(THREADS));
    float *q = floats(MOST * Q_ROW), *k = random_floats(MOST * K_ROW, 1.0f, 2);
    float *v = ${shape.values_in_keys and "values_of_keys(k, MOST)" or "random_floats(MOST * V_ROW, 1.0f, 3)"};
    float *out = floats(MOST * O_ROW), *again = floats(MOST * O_ROW);
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n_q = MIN(sizes[i].n_q, CAPACITY), n_kv = MIN(sizes[i].n_kv, CAPACITY);
        random_state = 1;
        fill(q, n_q * Q_ROW, sizes[i].size);
        check(${name}_attention(q, k${values("v")}, n_q, n_kv, ${more}out, scratch.data, NULL) == 0, "attention runs");
        check_rows(out, q, k, v, n_q, n_kv, "attention is near the reference");
        check(${name}_attention(q, k${values("v")}, n_q, n_kv, ${more}again, shared.data, &backwards) == 0 &&
                  same(out, again, n_q * O_ROW),
              "attention with a pool has the same bits");
        hash(out, n_q * O_ROW);
    }
    block_free(scratch, "attention stays within its scratch");
    block_free(shared, "attention with a pool stays within its scratch");
    free(q);
    free(k);
    free(v);
    free(out);
    free(again);
}

/* Sizes of successive chunks: around the widths of vectors, tiles and panels. */
static size_t chunk(size_t index, size_t left)
{
    static const size_t sizes[] = {1, 2, 5, 16, 7, 33, 3};
    return MIN(sizes[index % (sizeof sizes / sizeof *sizes)], left);
}

/* Appends the positions 0 .. n - 1, chunk by chunk. */
static int append_all(void *cache, size_t n, const float *k, const float *v)
{
    int good = 1;
    size_t first, size;
$ if shape.values_in_keys then
    (void)v;
$ end
    for (first = 0; first < n; first += size) {
        size = MIN(n - first, (size_t)${NAME}_CHUNK);
        good = good && ${name}_cache_append(cache, first, size, k + first * K_ROW${values("v + first * V_ROW")}) == 0;
    }
    return good;
}

/* Queries start..n-1 of n positions: all at once, in chunks and one by one give the same bits. */
static void test_cache(size_t start, size_t n)
{
    const size_t rows = n - start;
    block scratch = block_new(${NAME}_CACHE_SCRATCH_BYTES);
    block scratch_without = block_new(${NAME}_SCRATCH_BYTES);
    block shared = block_new(${NAME}_CACHE_SCRATCH_BYTES_FOR(THREADS));
    block cache = block_new(${NAME}_CACHE_BYTES), parts = block_new(${NAME}_CACHE_BYTES);
    float *q = random_floats(rows * Q_ROW, 2.0f, 4), *k = random_floats(n * K_ROW, 1.0f, 5);
    float *v = ${shape.values_in_keys and "values_of_keys(k, n)" or "random_floats(n * V_ROW, 1.0f, 6)"};
    float *out = floats(rows * O_ROW), *again = floats(rows * O_ROW);
    int good;
    size_t i, size, held = 0;

    check(${name}_cache_reset(cache.data) == 0 && append_all(cache.data, n, k, v) &&
              ${cache_attention}(cache.data, start, rows, q, ${more}out, scratch.data, NULL) == 0,
          "cache: prefill runs");
    check_rows(out, q, k, v, rows, n, "cache: prefill is near the reference");
    hash(out, rows * O_ROW);
    if (!${NAME}_EXACT)
        check(${name}_attention(q, k${values("v")}, rows, n, ${more}again, scratch_without.data, NULL) == 0 &&
                  same(out, again, rows * O_ROW),
              "cache: prefill has the bits of attention");
    check(${cache_attention}(cache.data, start, rows, q, ${more}again, shared.data, &backwards) == 0 &&
              same(out, again, rows * O_ROW),
          "cache: prefill with a pool has the same bits");

    good = ${name}_cache_reset(parts.data) == 0;
    for (i = 0; held < n; i++, held += size) {
        const size_t first = MAX(held, start);
        size = chunk(i, n - held);
        good = good &&
               ${name}_cache_append(parts.data, held, size, k + held * K_ROW${values("v + held * V_ROW")}) == 0;
        if (${NAME}_CAUSAL && held + size > first)
            good = good && ${cache_attention}(parts.data, first, held + size - first,
                                             q + (first - start) * Q_ROW,
                                             ${from_row(extras, "first - start")}again + (first - start) * O_ROW, scratch.data,
                                             NULL) == 0;
    }
    if (!${NAME}_CAUSAL) /* each query sees every key, so they wait for the last one */
        for (i = 0, held = start; held < n; i++, held += size) {
            size = chunk(i, n - held);
            good = good && ${cache_attention}(parts.data, held, size, q + (held - start) * Q_ROW,
                                             ${from_row(extras, "held - start")}again + (held - start) * O_ROW, scratch.data,
                                             NULL) == 0;
        }
    check(good && same(out, again, rows * O_ROW), "cache: chunks have the bits of prefill");

    good = 1;
    for (held = start; held < n; held++) {
        const size_t row = held - start;
        if (${NAME}_CAUSAL) /* forgets what comes after, and appends it anew */
            good = good && ${name}_cache_append(cache.data, held, 1, k + held * K_ROW${shape.values_in_keys and ") == 0;" or ","}
$ if not shape.values_in_keys then
                                          v + held * V_ROW) == 0;
$ end
        good = good && ${cache_attention}(cache.data, held, 1, q + row * Q_ROW,
                                         ${from_row(extras, "row")}again + row * O_ROW, scratch.data, NULL) == 0;
    }
    check(good && same(out, again, rows * O_ROW), "cache: single steps have the bits of prefill");

    block_free(scratch, "cache_attention stays within its scratch");
    block_free(scratch_without, "attention stays within its scratch");
    block_free(shared, "cache_attention with a pool stays within its scratch");
    block_free(cache, "the cache is kept within its bytes");
    block_free(parts, "the cache is kept within its bytes");
    free(q);
    free(k);
    free(v);
    free(out);
    free(again);
}

$ if shape.lse then
/* Keys in three caches of their own, whose results are merged: as if one held them all. */
static void test_merge(void)
{
    const size_t n = SHORT, rows = TAIL;
    const size_t cuts[] = {0, n / 3, n / 2, n};
    block scratch = block_new(${NAME}_CACHE_SCRATCH_BYTES);
    float *q = random_floats(rows * Q_ROW, 2.0f, 24), *k = random_floats(n * K_ROW, 1.0f, 25);
    float *v = ${shape.values_in_keys and "values_of_keys(k, n)" or "random_floats(n * V_ROW, 1.0f, 26)"};
    float *out = floats(rows * O_ROW), *whole = floats(rows * O_ROW), *sums = floats(rows * HEADS);
    float *const all = lse;
    int good = 1;
    size_t part;
$ if shape.sinks then
    float kept[HEADS];
    size_t h;
    memcpy(kept, sinks, sizeof kept);
$ end
    for (part = 0; part < 3; part++) {
        const size_t first = cuts[part];
        block cache = block_new(${NAME}_CACHE_BYTES);
        lse = part == 0 ? all : sums;
        good = good && ${name}_cache_reset(cache.data) == 0 &&
               ${name}_cache_append(cache.data, 0, cuts[part + 1] - first, k + first * K_ROW${values("v + first * V_ROW")}) == 0;
        good = good && ${cache_attention}(cache.data, n - rows - first, rows, q,
                                         ${from_key(extras, "first")}part == 0 ? whole : out, scratch.data, NULL) == 0;
        if (part > 0)
            good = good && ${name}_merge(whole, all, out, sums, rows) == 0;
        block_free(cache, "the cache of a part is kept within its bytes");
$ if shape.sinks then
        for (h = 0; h < HEADS; h++) /* they belong to the first part */
            sinks[h] = minus_infinity();
$ end
    }
    lse = all;
$ if shape.sinks then
    memcpy(sinks, kept, sizeof kept);
$ end
    check(good, "attention to parts and merging run");
    check_rows(whole, q, k, v, rows, n, "merged parts are near the reference");
    hash(whole, rows * O_ROW);
    hash(lse, rows * HEADS);
    check(${name}_merge(whole, lse, NULL, sums, rows) == ${NAME}_ERROR_NULL, "merging nothing is refused");
    block_free(scratch, "attention to parts stays within its scratch");
    free(q);
    free(k);
    free(v);
    free(out);
    free(whole);
    free(sums);
}

$ end
/* Wrong calls are refused with their status, and write nothing. */
static void test_errors(void)
{
    block scratch = block_new(MAX(${NAME}_SCRATCH_BYTES, ${NAME}_CACHE_SCRATCH_BYTES));
    block cache = block_new(${NAME}_CACHE_BYTES);
    float *q = random_floats(Q_ROW, 1.0f, 7), *k = random_floats(K_ROW, 1.0f, 8);
    float *v = random_floats(V_ROW, 1.0f, 9), *out = random_floats(O_ROW, 1.0f, 10);
    float *untouched = random_floats(O_ROW, 1.0f, 10);
    const size_t one = ${NAME}_EXACT ? CAPACITY : 1;
    unsigned char *aside = (unsigned char *)cache.data + 4;

    check(${name}_attention(NULL, k${values("v")}, one, one, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_NULL,
          "attention without q is refused");
    check(${name}_attention(q, k${values("v")}, 1, KV_CAPACITY + 1, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_RANGE,
          "attention past the capacity is refused");
    check(${name}_cache_append(cache.data, 0, 1, k${values("v")}) == ${NAME}_ERROR_CACHE,
          "a cache that was never reset is refused");
    check(${name}_cache_reset(NULL) == ${NAME}_ERROR_NULL, "a cache that is NULL is refused");
    check(${name}_cache_reset(aside) == ${NAME}_ERROR_ALIGN, "a cache that is not aligned is refused");
    check(${name}_cache_reset(cache.data) == 0, "a cache is reset");
    check(${name}_cache_append(cache.data, 1, 1, k${values("v")}) == ${NAME}_ERROR_RANGE,
          "appending after a gap is refused");
    check(${name}_cache_append(cache.data, 0, KV_CAPACITY + 1, k${values("v")}) == ${NAME}_ERROR_RANGE,
          "appending past the capacity is refused");
$ if shape.cross then
    check(${name}_cache_attention(cache.data, ${NAME}_CAPACITY + 1, q, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_RANGE,
          "more queries than there may be are refused");
$ elseif shape.lse then
    check(${cache_attention}(cache.data, ${plan.POSITIONS}, 1, q, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_RANGE,
          "attention past all positions is refused");
$ else
    check(${cache_attention}(cache.data, 0, 1, q, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_RANGE,
          "attention at a position that the cache does not hold is refused");
$ end
    check(same(out, untouched, O_ROW), "nothing is written on an error");
$ if layout.cache.ring then
    if (CAPACITY <= 65536) {
        const size_t least = MIN((size_t)${NAME}_WINDOW - 1, (size_t)1); /* is the first one needed? */
        int good = 1;
        size_t i;
        for (i = 0; i < ${NAME}_CACHE_POSITIONS + 1; i++)
            good = good && ${name}_cache_append(cache.data, i, 1, k${values("v")}) == 0;
        check(good, "a ring cache takes more positions than it holds");
        check(${name}_cache_append(cache.data, 0, ${NAME}_CHUNK + 1, k${values("v")}) == ${NAME}_ERROR_RANGE,
              "appending more than a chunk is refused");
        check(${cache_attention}(cache.data, least, 1, q, ${more}out, scratch.data, NULL) == ${NAME}_ERROR_RANGE,
              "attention to a key that was overwritten is refused");
        check(same(out, untouched, O_ROW), "nothing is written where a key was overwritten");
        check(${name}_cache_reset(cache.data) == 0, "a ring cache is reset");
    }
$ end
    if (KV_CAPACITY <= 4096) {
        int good = 1;
        size_t i;
        for (i = 0; i < KV_CAPACITY; i++)
            good = good && ${name}_cache_append(cache.data, i, 1, k${values("v")}) == 0;
        check(good, "the cache takes as many positions as its capacity");
        check(${name}_cache_append(cache.data, KV_CAPACITY, 1, k${values("v")}) == ${NAME}_ERROR_RANGE,
              "the cache takes no more than its capacity");
    }
    check(${name}_use_isa("no such set") == ${NAME}_ERROR_CPU, "an unknown instruction set is refused");
    block_free(scratch, "errors leave the scratch alone");
    block_free(cache, "the full cache is kept within its bytes");
    free(q);
    free(k);
    free(v);
    free(out);
    free(untouched);
}
$ if shape.emit ~= "attention" then

/* ---- layer ---- */

/* Rows in the tests of the layer: some 2^26 products, so a wide model gets few. */
#define ROWS                                                                                       \
    MIN(CAPACITY, MIN(MAX((size_t)(67108864 / ${NAME}_PARAMETERS), (size_t)3), (size_t)37))

$ if shape.qk_norm then
/* Weights of a norm: of each channel of all heads, or of those of one head. */
#define WIDE_NORM (${NAME}_QK_NORM_FULL || ${NAME}_QK_NORM_PER_HEAD)
#define Q_NORM (WIDE_NORM ? Q_ROW : HEAD_DIM)
#define K_NORM (WIDE_NORM ? K_ROW : HEAD_DIM)

$ end
$ if shape.mla then
#define NOPE_DIM ((size_t)${NAME}_MLA_NOPE_DIM)
#define ROPE_DIM ((size_t)${NAME}_MLA_ROPE_DIM)
#define KV_RANK ((size_t)${NAME}_MLA_KV_RANK)
#define Q_RANK ((size_t)${NAME}_MLA_Q_RANK)
#define B_ROW (HEADS * (NOPE_DIM + EXPANDED_V_HEAD_DIM)) /* outputs of kv_b_proj */

/* What the model lacks is NULL. Without a latent of q, q_b_proj is q_proj. */
typedef struct matrices {
    float *q_a_proj, *q_a_layernorm, *q_b_proj, *kv_a_proj, *kv_a_layernorm, *kv_b_proj, *o_proj;
    float *q_a_bias, *kv_a_bias, *o_bias;
} matrices;

/* A power of two that makes outputs about as large as so many inputs. */
static float scale_of(size_t inputs)
{
    float scale = 1.5f;
    while (scale * scale * (float)inputs > 3.0f)
        scale *= 0.5f;
    return scale;
}

static matrices made_weights(void)
{
    const size_t q_inputs = Q_RANK > 0 ? Q_RANK : D_MODEL;
    matrices made;
    made.q_a_proj = random_floats(Q_RANK * D_MODEL, scale_of(D_MODEL), 11);
    made.q_a_layernorm = random_floats(Q_RANK, 2.0f, 12);
    made.q_b_proj = random_floats(EXPANDED_Q_ROW * q_inputs, scale_of(q_inputs), 13);
    made.kv_a_proj = random_floats(K_ROW * D_MODEL, scale_of(D_MODEL), 14);
    made.kv_a_layernorm = random_floats(KV_RANK, 2.0f, 15);
    made.kv_b_proj = random_floats(B_ROW * KV_RANK, scale_of(KV_RANK), 16);
    made.o_proj = random_floats(EXPANDED_O_ROW * D_MODEL, scale_of(EXPANDED_O_ROW), 17);
    made.q_a_bias = ${NAME}_QKV_BIAS ? random_floats(Q_RANK, 1.0f, 18) : NULL;
    made.kv_a_bias = ${NAME}_QKV_BIAS ? random_floats(K_ROW, 1.0f, 19) : NULL;
    made.o_bias = ${NAME}_O_BIAS ? random_floats(D_MODEL, 1.0f, 20) : NULL;
    return made;
}

static void free_weights(matrices used)
{
    free(used.q_a_proj);
    free(used.q_a_layernorm);
    free(used.q_b_proj);
    free(used.kv_a_proj);
    free(used.kv_a_layernorm);
    free(used.kv_b_proj);
    free(used.o_proj);
    free(used.q_a_bias);
    free(used.kv_a_bias);
    free(used.o_bias);
}
$ else
typedef struct matrices {
    float *wq, *wk, *wv, *wo, *bq, *bk, *bv, *bo; /* a bias that the model lacks is NULL */
$ if shape.qk_norm then
    float *q_norm, *k_norm, *q_norm_bias, *k_norm_bias;
$ end
} matrices;

static matrices made_weights(void)
{
    matrices made;
    float scale_in = 1.5f, scale_out = 1.5f;
    while (scale_in * scale_in * (float)D_MODEL > 3.0f)
        scale_in *= 0.5f; /* a power of two apart: q, k, v and y are about as large as x */
    while (scale_out * scale_out * (float)O_ROW > 3.0f)
        scale_out *= 0.5f;
    made.wq = random_floats(Q_ROW * D_MODEL, scale_in, 11);
    made.wk = random_floats(K_ROW * ${source_width}, scale_in, 12);
    made.wv = random_floats(V_ROW * ${source_width}, scale_in, 13);
    made.wo = random_floats(O_ROW * D_MODEL, scale_out, 14);
    made.bq = ${NAME}_QKV_BIAS ? random_floats(Q_ROW, 1.0f, 15) : NULL;
    made.bk = ${NAME}_QKV_BIAS ? random_floats(K_ROW, 1.0f, 16) : NULL;
    made.bv = ${NAME}_QKV_BIAS ? random_floats(V_ROW, 1.0f, 17) : NULL;
    made.bo = ${NAME}_O_BIAS ? random_floats(D_MODEL, 1.0f, 18) : NULL;
$ if shape.qk_norm then
    made.q_norm = random_floats(Q_NORM, 2.0f, 20);
    made.k_norm = random_floats(K_NORM, 2.0f, 21);
    made.q_norm_bias = ${NAME}_QK_NORM_BIAS ? random_floats(Q_NORM, 1.0f, 22) : NULL;
    made.k_norm_bias = ${NAME}_QK_NORM_BIAS ? random_floats(K_NORM, 1.0f, 23) : NULL;
$ end
    return made;
}

static void free_weights(matrices used)
{
    free(used.wq);
    free(used.wk);
    free(used.wv);
    free(used.wo);
    free(used.bq);
    free(used.bk);
    free(used.bv);
    free(used.bo);
$ if shape.qk_norm then
    free(used.q_norm);
    free(used.k_norm);
    free(used.q_norm_bias);
    free(used.k_norm_bias);
$ end
}
$ end

/* y[outs] = W x + b for one row. */
static void reference_project(const estimate *x, size_t ins, const float *w, const float *b,
                              size_t outs, estimate *y)
{
    size_t i, o;
    for (o = 0; o < outs; o++) {
        double sum = b != NULL ? (double)b[o] : 0.0, variance = 0.0;
        for (i = 0; i < ins; i++) {
            const double weight = (double)w[${NAME}_WEIGHTS_IN_OUT ? i * outs + o : o * ins + i];
            sum += x[i].value * weight;
            variance += sum * sum + x[i].variance * weight * weight +
                        apart * x[i].value * x[i].value * weight * weight;
        }
        y[o].value = sum;
        y[o].variance = variance;
    }
}
$ if shape.rope then

static void sine_cosine(double angle, double *sine, double *cosine)
{
    const double turn = 6.283185307179586476925;
    double term = 1.0;
    int n;
    angle -= turn * (double)(long)(angle / turn); /* angles are positive */
    *sine = 0.0;
    *cosine = 1.0;
    for (n = 1; n <= 40; n++) {
        term *= angle / n;
        *(n % 2 == 1 ? sine : cosine) += n % 4 < 2 ? term : -term;
    }
}

$   local scaling, half = shape.rope.scaling, shape.rope.layout == "half"
$   local whole = scaling and scaling.type == "proportional" -- angles and pairs of a whole head
$   local long = rope_switches and ", size_t length" or ""
$   local length = rope_switches and ", length" or ""
$   if scaling then
$     local kind = scaling.type
$     if kind == "yarn" then
static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

$       if scaling.truncate then
static double rounded_down(double x)
{
    const double whole = (double)(long)x;
    return whole > x ? whole - 1.0 : whole;
}

$       end
$     end
/* What pair i turns by at each position. */
static double frequency(size_t i, double log_theta${long})
{
$     if kind ~= "dynamic" then
    const double plain = exponential(-2.0 * (double)i / ${whole and "(double)HEAD_DIM" or NAME .. "_ROTARY_DIM"} * log_theta);
$     end
$     if kind == "linear" or kind == "proportional" then
    return plain / ${NAME}_ROPE_FACTOR;
$     elseif kind == "dynamic" then
    const double length = MAX(CAPACITY, (size_t)${NAME}_ROPE_ORIGINAL);
    const double growth = ${NAME}_ROPE_FACTOR * length / ${NAME}_ROPE_ORIGINAL - (${NAME}_ROPE_FACTOR - 1.0);
    const double power = ${NAME}_ROTARY_DIM / (${NAME}_ROTARY_DIM - 2.0);
    return exponential(-2.0 * (double)i / ${NAME}_ROTARY_DIM * (log_theta + power * logarithm(growth)));
$     elseif kind == "llama3" then
    const double turns = ${NAME}_ROPE_ORIGINAL * plain / 6.283185307179586476925;
    const double low = ${NAME}_ROPE_LOW_FREQ_FACTOR, high = ${NAME}_ROPE_HIGH_FREQ_FACTOR;
    const double smooth = (turns - low) / (high - low);
    if (turns > high)
        return plain;
    if (turns < low)
        return plain / ${NAME}_ROPE_FACTOR;
    return (1.0 - smooth) * plain / ${NAME}_ROPE_FACTOR + smooth * plain;
$     elseif kind == "yarn" then
    const double per_log = ${NAME}_ROTARY_DIM / (2.0 * log_theta);
    const double positions = ${NAME}_ROPE_ORIGINAL / 6.283185307179586476925;
    double low = per_log * (logarithm(positions) - logarithm(${NAME}_ROPE_BETA_FAST));
    double high = per_log * (logarithm(positions) - logarithm(${NAME}_ROPE_BETA_SLOW));
    double share;
$       if scaling.truncate then
    low = rounded_down(low);
    high = -rounded_down(-high);
$       end
    low = MAX(low, 0.0);
    high = MIN(high, ${NAME}_ROTARY_DIM - 1.0);
    if (!(low < high) && !(low > high))
        high += 0.001;
    share = clamp(((double)i - low) / (high - low), 0.0, 1.0);
    return plain / ${NAME}_ROPE_FACTOR * share + plain * (1.0 - share);
$     else
    static const double short_factors[] = ${NAME}_ROPE_SHORT_FACTORS;
    static const double long_factors[] = ${NAME}_ROPE_LONG_FACTORS;
    return plain / (${rope_switches and "length" or "CAPACITY"} > ${NAME}_ROPE_ORIGINAL ? long_factors : short_factors)[i];
$     end
}

$   end
/* Rotates the heads of one row at a position${rope_switches and " of a sequence of so many" or ""}. */
static void reference_rope(estimate *row, size_t heads, size_t position${long})
{
    const size_t half = ${NAME}_ROTARY_DIM / 2;
    const double log_theta = logarithm(${NAME}_ROPE_THETA);
    size_t i, h;
$   if shape.rope.offset then
    position += ${NAME}_ROPE_OFFSET;
$   end
    for (i = 0; i < half; i++) {
$   if scaling then
        double s, c;
        sine_cosine((double)position * frequency(i, log_theta${length}), &s, &c);
        s *= ${NAME}_ROPE_ATTENTION_FACTOR;
        c *= ${NAME}_ROPE_ATTENTION_FACTOR;
$   else
        const double exponent = -2.0 * (double)i / ${NAME}_ROTARY_DIM;
        double s, c;
        sine_cosine((double)position * exponential(exponent * log_theta), &s, &c);
$   end
        for (h = 0; h < heads; h++) {
            estimate *a = row + h * HEAD_DIM + (${NAME}_ROPE_INTERLEAVED ? 2 * i : i);
            estimate *b = a + (${NAME}_ROPE_INTERLEAVED ? 1 : ${whole and half and "HEAD_DIM / 2" or "half"});
            const estimate x = *a, y = *b;
$   if scaling then
            const double size = 4.0 * (x.value * x.value + y.value * y.value) *
                                ${NAME}_ROPE_ATTENTION_FACTOR * ${NAME}_ROPE_ATTENTION_FACTOR; /* roundings */
$   else
            const double size = 4.0 * (x.value * x.value + y.value * y.value); /* roundings */
$   end
            a->value = x.value * c - y.value * s;
            b->value = y.value * c + x.value * s;
            a->variance = x.variance * c * c + y.variance * s * s + size;
            b->variance = y.variance * c * c + x.variance * s * s + size;
        }
    }
}
$ end
$ if shape.qk_norm or shape.mla or shape.block then

static double square_root(double x)
{
    double y = x + 1.0;
    int n;
    for (n = 0; n < 1000 && y * y > x * (1.0 + 1e-15); n++)
        y = 0.5 * (y + x / y);
    return y;
}

/* Sum of x, or of its squares; the kernel's 16 partial sums are smaller than these. */
static estimate norm_sum(const estimate *x, size_t count, int squares)
{
    estimate sum = {0.0, 0.0};
    size_t i;
    for (i = 0; i < count; i++) {
        const double slope = squares ? 2.0 * x[i].value : 1.0;
        const double term = squares ? x[i].value * x[i].value : x[i].value;
        sum.value += term;
        sum.variance += slope * slope * x[i].variance + sum.value * sum.value + term * term;
    }
    return sum;
}

/* A norm of some channels; b may be NULL. */
static void reference_norm(estimate *x, size_t width, int layernorm, double eps, const float *w, double more,
                           const float *b)
{
    const double n = (double)width;
    estimate sum;
    double size, factor, relative;
    size_t i;
    int pass;
    for (pass = 0; layernorm && pass < 2; pass++) { /* the second mean makes good what the first one lost */
        const estimate mean = norm_sum(x, width, 0);
        for (i = 0; i < width; i++) {
            x[i].value -= mean.value / n;
            x[i].variance += (pass == 1 ? mean.variance / n / n : 0.0) + x[i].value * x[i].value;
        }
    }
    sum = norm_sum(x, width, 1);
    size = sum.value / n + eps;
    factor = 1.0 / square_root(size);
    /* of the factor: half that of the sum, and the roundings of its steps */
    relative = 0.25 * sum.variance / (n * size * n * size) + 3.0;
    for (i = 0; i < width; i++) {
        const double weight = (double)w[i] + more, scale = factor * weight;
        const double value = x[i].value * scale;
        x[i].variance = x[i].variance * scale * scale + (relative + 3.0) * value * value;
        x[i].value = value;
        if (b != NULL) {
            x[i].value += (double)b[i];
            x[i].variance += x[i].value * x[i].value;
        }
    }
}
$ end
$ if shape.qk_norm then

/* The norm of one row of q or k. */
static void reference_qk_norm(estimate *row, size_t heads, const float *w, const float *b)
{
    const size_t width = ${NAME}_QK_NORM_FULL ? heads * HEAD_DIM : HEAD_DIM;
    size_t first;
    for (first = 0; first < heads * HEAD_DIM; first += width) {
        const size_t own = ${NAME}_QK_NORM_PER_HEAD ? first : 0;
        reference_norm(row + first, width, ${NAME}_QK_NORM_LAYERNORM, ${NAME}_QK_NORM_EPS, w + own,
                       ${NAME}_QK_NORM_UNIT_OFFSET, b != NULL ? b + own : NULL);
    }
}
$ end
$ if shape.clip_qkv then
/* Clamps numbers; what the limits swallow of an error is not counted on. */
static void reference_clip(estimate *x, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        x[i].value = MAX(-(double)(float)${NAME}_CLIP_QKV, MIN(x[i].value, (double)(float)${NAME}_CLIP_QKV));
}

$ end
$ -- What becomes of a row of q or k after its projection.
$ local function prepare(which, heads)
$   local x = ("%s + i * %s_ROW"):format(which, which:upper())
$   local function norm()
        reference_qk_norm(${x}, ${heads}, w->${which}_norm, w->${which}_norm_bias);
$   end
$   local after = shape.qk_norm and shape.qk_norm.order == "after_rope"
$   if shape.qk_norm and not after then norm() end
$   if shape.clip_qkv then
        reference_clip(${x}, ${which:upper()}_ROW);
$   end
$   if shape.rope then
        reference_rope(${x}, ${heads}, i${rope_switches and ", n" or ""});
$   end
$   if after then norm() end
$ end

$ if shape.cross then
static float *source_rows; /* as many as queries */

$ end
$ local block = shape.block
$ if block then
/* What a block has besides; what the model lacks is NULL. */
typedef struct parts {
    float *norms[4], *norm_biases[4]; /* before and after attention, before and after the feed-forward */
$   if block.layer_scale then
    float *scales[2]; /* of attention and of the feed-forward */
$   end
    float *gate, *up, *down, *gate_bias, *up_bias, *down_bias;
} parts;

static parts made_parts(void)
{
    static const int has[4] = {${NAME}_ATTENTION_NORM, ${NAME}_ATTENTION_POST_NORM, ${NAME}_FFN_NORM,
                               ${NAME}_FFN_POST_NORM};
    const size_t ffn = ${NAME}_FFN;
    parts made;
    float scale_in = 1.5f, scale_out = 1.5f;
    int i;
    while (scale_in * scale_in * (float)D_MODEL > 3.0f)
        scale_in *= 0.5f;
    while (scale_out * scale_out * (float)ffn > 3.0f)
        scale_out *= 0.5f;
$   if block.layer_scale then
    for (i = 0; i < 2; i++)
        made.scales[i] = random_floats(D_MODEL, 2.0f, 44 + (unsigned long)i);
$   end
    for (i = 0; i < 4; i++) {
        made.norms[i] = has[i] ? random_floats(D_MODEL, 2.0f, 30 + (unsigned long)i) : NULL;
        made.norm_biases[i] = has[i] && ${NAME}_NORM_BIAS ? random_floats(D_MODEL, 1.0f, 34 + (unsigned long)i) : NULL;
    }
    made.gate = ${NAME}_GATED ? random_floats(ffn * D_MODEL, scale_in, 38) : NULL;
    made.up = random_floats(ffn * D_MODEL, scale_in, 39);
    made.down = random_floats(ffn * D_MODEL, scale_out, 40);
    made.gate_bias = ${NAME}_GATED && ${NAME}_FFN_BIAS ? random_floats(ffn, 1.0f, 41) : NULL;
    made.up_bias = ${NAME}_FFN_BIAS ? random_floats(ffn, 1.0f, 42) : NULL;
    made.down_bias = ${NAME}_FFN_BIAS ? random_floats(D_MODEL, 1.0f, 43) : NULL;
    return made;
}

static void free_parts(parts used)
{
    int i;
    for (i = 0; i < 4; i++) {
        free(used.norms[i]);
        free(used.norm_biases[i]);
    }
$   if block.layer_scale then
    for (i = 0; i < 2; i++)
        free(used.scales[i]);
$   end
    free(used.gate);
    free(used.up);
    free(used.down);
    free(used.gate_bias);
    free(used.up_bias);
    free(used.down_bias);
}

$   local act = block.act
$   if act then
/* The activation: its own error, and errors of x as far as it is steep. */
static estimate activation(estimate x)
{
    const double v = x.value;
    estimate y;
$   if act == "relu" or act == "relu2" then
    const double positive = v > 0.0 ? v : 0.0;
    y.value = positive${act == "relu2" and " * positive" or ""};
    y.variance = ${act == "relu2" and "4.0 * positive * positive * x.variance + y.value * y.value" or "v > 0.0 ? x.variance : 0.0"};
$   else
    double slope, share; /* share: of the roundings in the exponent */
$     if act == "gelu" then
    /* P(X <= v) is 1/2 + v (1 + v^2/3 (1 + v^2/5 (1 + ...))) e^(-v^2/2) / sqrt(2 pi) */
    const double size = v < 0.0 ? -v : v, density = 0.39894228040143267794 * exponential(-0.5 * MIN(size, 30.0) * MIN(size, 30.0));
    double term = MIN(size, 30.0), sum = 0.0, below;
    int n;
    for (n = 1; n < 2000 && term > 1e-20 * sum; n++) {
        sum += term;
        term *= MIN(size, 30.0) * MIN(size, 30.0) / (2.0 * n + 1.0);
    }
    below = size < 6.0 ? 0.5 + (v < 0.0 ? -sum : sum) * density : v < 0.0 ? density / (size + 1.0 / size) : 1.0;
    y.value = v * below;
    slope = below + v * density;
    share = apart * (v < 0.0 ? 0.5 * v * v : 1.0);
$     else
$       local tanh, quick = act == "gelu_tanh", act == "quick_gelu"
    const double exponent = ${tanh and "1.5957691216057307118 * (v + 0.044715 * v * v * v)" or quick and "1.702 * v" or "v"};
    const double gate = 1.0 / (1.0 + exponential(-MAX(MIN(exponent, 600.0), -600.0)));
    y.value = v * gate;
    slope = gate + y.value * (1.0 - gate)${tanh and " * 1.5957691216057307118 * (1.0 + 0.134145 * v * v)" or quick and " * 1.702" or ""};
    share = ${tanh and "(1.8 + apart)" or quick and "apart" or "0.0"} * exponent * (1.0 - gate);
$     end
    y.variance = slope * slope * x.variance + (${act == "gelu" and "28.0" or "7.0"} + share * share) * y.value * y.value;
$     if act == "gelu" then
    if (size >= 6.0)
        y.variance += 1e-8; /* of the tail above, which is 1e-9 and less */
$     end
    y.variance += 1e-56; /* what is too far below counts as 0 */
$   end
    return y;
}

$   end
$   local scaled = block.layer_scale
/* x + ${scaled and "scale" or NAME .. "_RESIDUAL_MULTIPLIER"} * a, in a */
static void add_residual(const estimate *x, ${scaled and "const float *scale, " or ""}estimate *a)
{
    size_t i;
    for (i = 0; i < D_MODEL; i++) {
        const double m = ${scaled and "(double)scale[i]" or NAME .. "_RESIDUAL_MULTIPLIER"}, term = m * a[i].value;
        a[i].value = x[i].value + term;
        a[i].variance = x[i].variance + m * m * a[i].variance + a[i].value * a[i].value${(scaled or block.residual_multiplier) and " + (1.0 + apart) * term * term" or ""};
    }
}

static void norm_of(const parts *own, int which, estimate *x)
{
    reference_norm(x, D_MODEL, ${NAME}_NORM_LAYERNORM, ${NAME}_NORM_EPS, own->norms[which], ${NAME}_NORM_UNIT_OFFSET,
                   own->norm_biases[which]);
}

/* The rest of the block for one row: x, the attention's input, and its output in y. */
static void finish_block(const parts *own, const estimate *x, const estimate *normed, estimate *y)
{
$   local place = block.place
$   local of_output = place == "sandwich" or place == "res_post"
$   if block.ffn > 0 then
    const size_t ffn = ${NAME}_FFN, bytes = D_MODEL * sizeof(estimate);
    estimate *in = (estimate *)allocate(bytes), *out = (estimate *)allocate(bytes);
    estimate *inner = (estimate *)allocate(2 * ffn * sizeof(estimate));
    size_t i;
$   end
$   if of_output then
    norm_of(own, 1, y);
$   end
    add_residual(x, ${scaled and "own->scales[0], " or ""}y);
$   if place == "post" then
    norm_of(own, 1, y);
$   end
$   if block.ffn > 0 then
    memcpy(in, ${place == "parallel" and (block.parallel_norms == 2 and "x" or "normed") or "y"}, bytes);
$   if block.parallel_norms == 2 or place == "pre" or place == "sandwich" then
    norm_of(own, 2, in);
$   end
    reference_project(in, D_MODEL, own->up, own->up_bias, ffn, inner);
$   if block.gated then
    reference_project(in, D_MODEL, own->gate, own->gate_bias, ffn, inner + ffn);
    for (i = 0; i < ffn; i++) {
        const estimate gate = activation(inner[ffn + i]), up = inner[i];
        inner[i].value = gate.value * up.value;
        inner[i].variance = gate.variance * up.value * up.value + gate.value * gate.value * up.variance +
                            inner[i].value * inner[i].value;
    }
$   else
    for (i = 0; i < ffn; i++)
        inner[i] = activation(inner[i]);
$   end
    reference_project(inner, ffn, own->down, own->down_bias, D_MODEL, out);
$   if of_output then
    norm_of(own, 3, out);
$   end
    add_residual(y, ${scaled and "own->scales[1], " or ""}out);
    memcpy(y, out, bytes);
$   if place == "post" then
    norm_of(own, 3, y);
$   end
    free(in);
    free(out);
    free(inner);
$   end
    (void)own, (void)normed;
}

$ end
$ local with_parts = block and ", const parts *own" or ""
$ if shape.mla then
${mla_selftest}
$ else
/* Compares rows of y = layer(x), n positions from 0 on, `step` apart.${block and " With `own` it is a block." or ""} */
static void check_layer(const float *got, const float *x, const matrices *w${with_parts}, size_t n, size_t step,
                        const char *what)
{
    estimate *in = exact(x, n * D_MODEL);
$ local keys_from = shape.cross and "from" or "in"
$ if shape.cross then
    estimate *from = exact(source_rows, n * SOURCE);
$ end
    estimate *q = (estimate *)allocate(n * Q_ROW * sizeof(estimate));
    estimate *k = (estimate *)allocate(n * K_ROW * sizeof(estimate));
    estimate *v = (estimate *)allocate(n * V_ROW * sizeof(estimate));
    estimate *mixed = (estimate *)allocate(O_ROW * sizeof(estimate));
    estimate *y = (estimate *)allocate(D_MODEL * sizeof(estimate));
$ if shape.lse then
    estimate log_sums[HEADS]; /* not an output of a layer */
$ end
$ if block then
    estimate *residual = exact(x, n * D_MODEL);
$ end
    int good = 1;
    size_t i;
    for (i = 0; i < n; i++) {
$ if block and memory.block_offsets.attention_norm then
        if (own != NULL)
            norm_of(own, 0, in + i * D_MODEL);
$ end
        reference_project(${keys_from} + i * ${source_width}, ${source_width}, w->wk, w->bk, K_ROW, k + i * K_ROW);
        reference_project(${keys_from} + i * ${source_width}, ${source_width}, w->wv, w->bv, V_ROW, v + i * V_ROW);
$ if shape.clip_qkv then
        reference_clip(v + i * V_ROW, V_ROW);
$ end
$ prepare("k", "KV_HEADS")
    }
    for (i = 0; i < n; i += step) {
        reference_project(in + i * D_MODEL, D_MODEL, w->wq, w->bq, Q_ROW, q + i * Q_ROW);
$ prepare("q", "HEADS")
        reference_row(q, k, v, i, n, n, ${shape.lse and "log_sums, " or ""}mixed);
        reference_project(mixed, O_ROW, w->wo, w->bo, D_MODEL, y);
$ if block then
        if (own != NULL)
            finish_block(own, residual + i * D_MODEL, in + i * D_MODEL, y);
$ end
        good = close_to(got + i * D_MODEL, y, D_MODEL) && good;
    }
    check(good, what);
$ if block then
    free(residual);
$ end
    free(in);
$ if shape.cross then
    free(from);
$ end
    free(q);
    free(k);
    free(v);
    free(mixed);
    free(y);
}

$ end
$ local layer_reset = rope_switches and "cache_reset_for_rows" or name .. "_cache_reset"
$ if rope_switches then
/* Empties a cache for as many positions as the tests of the layer have. */
static int cache_reset_for_rows(void *cache)
{
    return ROWS > ${NAME}_ROPE_ORIGINAL ? ${name}_cache_reset_long(cache) : ${name}_cache_reset(cache);
}

$ end
$ local function test_rows(which)
$   local whole = which == "block"
$   local own_parts = not block and "" or whole and ", &own" or ", NULL"
static void test_${which}(void)
{
    const size_t rows = ROWS, alone = ${NAME}_EXACT ? CAPACITY : rows;
    block weights = block_new(${NAME}_${whole and "BLOCK_" or ""}WEIGHTS_BYTES), cache = block_new(${NAME}_CACHE_BYTES);
    block scratch = block_new(MAX(${NAME}_SCRATCH_BYTES, ${NAME}_CACHE_SCRATCH_BYTES));
    block shared = block_new(
        MAX(${NAME}_SCRATCH_BYTES_FOR(THREADS), ${NAME}_CACHE_SCRATCH_BYTES_FOR(THREADS)));
    float *x = random_floats(alone * D_MODEL, 1.5f, 19), *y = floats(alone * D_MODEL);
    float *again = floats(alone * D_MODEL);
    matrices w = made_weights();
    ${name}_weights source;
$   if whole then
    ${name}_block_weights all;
    parts own = made_parts();
$   end
    int good;
    size_t i, size = 0, held = 0;

    memset(&source, 0, sizeof source);
$ if shape.mla then
$   if shape.mla.q_rank then
    source.q_a_proj = w.q_a_proj;
    source.q_a_layernorm = w.q_a_layernorm;
    source.q_b_proj = w.q_b_proj;
$   else
    source.q_proj = w.q_b_proj;
$   end
    source.kv_a_proj_with_mqa = w.kv_a_proj;
    source.kv_a_layernorm = w.kv_a_layernorm;
    source.kv_b_proj = w.kv_b_proj;
    source.o_proj = w.o_proj;
$   if shape.mla.q_rank and shape.qkv_bias then
    source.q_a_proj_bias = w.q_a_bias;
$   end
$   if shape.qkv_bias then
    source.kv_a_proj_bias = w.kv_a_bias;
$   end
$   if shape.o_bias then
    source.o_proj_bias = w.o_bias;
$   end
$ else
    source.wq = w.wq;
    source.wk = w.wk;
    source.wv = w.wv;
    source.wo = w.wo;
$ if shape.qkv_bias then
    source.bq = w.bq;
    source.bk = w.bk;
    source.bv = w.bv;
$ end
$ if shape.o_bias then
    source.bo = w.bo;
$ end
$ end
$ if shape.qk_norm then
    source.q_norm = w.q_norm;
    source.k_norm = w.k_norm;
$   if shape.qk_norm.bias then
    source.q_norm_bias = w.q_norm_bias;
    source.k_norm_bias = w.k_norm_bias;
$   end
$ end
$ for _, extra in ipairs(packed) do
    source.${extra.name} = ${extra.name};
$ end
$ local function pack()
$   if whole then
    memset(&all, 0, sizeof all);
    all.attention = source;
$     for _, each in ipairs(layout.norms) do
$       local at = ({ attention_norm = 0, attention_post_norm = 1, ffn_norm = 2, ffn_post_norm = 3 })[each]
    all.${each} = own.norms[${at}];
$       if block.norm_bias then
    all.${each}_bias = own.norm_biases[${at}];
$       end
$     end
$     for index, each in ipairs(layout.scales) do
    all.${each} = own.scales[${index - 1}];
$     end
$     for _, each in ipairs(block.ffn > 0 and { "gate", "up", "down" } or {}) do
$       if each ~= "gate" or block.gated then
    all.w_${each} = own.${each};
$         if block.bias then
    all.b_${each} = own.${each}_bias;
$         end
$       end
$     end
    check(${name}_pack_block_weights(&all, weights.data) == 0, "weights are packed");
$   else
    check(${name}_pack_weights(&source, weights.data) == 0, "weights are packed");
$   end
$ end
$ if shape.cross then
    source_rows = random_floats(rows * SOURCE, 1.5f, 27);
    check(${name}_source(weights.data, cache.data, 0, rows, source_rows, scratch.data, NULL) == ${NAME}_ERROR_CACHE,
          "a cache that was never reset is refused for a source");
    check(${name}_cache_reset(cache.data) == 0 &&
              ${name}_source(weights.data, cache.data, 0, rows, source_rows, scratch.data, NULL) == ${NAME}_ERROR_WEIGHTS,
          "weights that were never packed are refused");
$   pack()

    check(${name}_source(weights.data, cache.data, 0, rows, source_rows, scratch.data, NULL) == 0 &&
              ${name}_${which}(weights.data, cache.data, rows, x, ${layer_more}y, scratch.data, NULL) == 0,
          "${which} runs");
    check_layer(y, x, &w${own_parts}, rows, rows > 8 ? 4 : 1, "${which} is near the reference");
    hash(y, rows * D_MODEL);

    good = ${name}_cache_reset(cache.data) == 0;
    for (i = 0; held < rows; i++, held += size) {
        size = chunk(i, rows - held);
        good = good && ${name}_source(weights.data, cache.data, held, size, source_rows + held * SOURCE,
                               shared.data, &backwards) == 0;
    }
    memcpy(again, x, rows * D_MODEL * sizeof *x);
    for (i = 0, held = 0; held < rows; i++, held += size) {
        size = chunk(i, rows - held);
        good = good && ${name}_${which}(weights.data, cache.data, size, again + held * D_MODEL,
                               ${from_row(layer_extras, "held")}again + held * D_MODEL, shared.data, &backwards) == 0;
    }
    check(good && same(y, again, rows * D_MODEL), "source and ${which} in chunks, in place, with a pool have the same bits");

    check(${name}_source(weights.data, cache.data, KV_CAPACITY, 1, source_rows, scratch.data, NULL) ==
              ${NAME}_ERROR_RANGE,
          "a source past its capacity is refused");
    check(${name}_${which}(weights.data, cache.data, ${NAME}_CAPACITY + 1, x, ${layer_more}again, scratch.data, NULL) ==
              ${NAME}_ERROR_RANGE,
          "more rows than there may be are refused");
    check(${name}_${which}(weights.data, NULL, 1, x, ${layer_more}again, scratch.data, NULL) == ${NAME}_ERROR_NULL,
          "${which} without a source is refused");
    free(source_rows);
$ else
    check(${name}_${which}(weights.data, NULL, 0, alone, x, ${layer_more}y, scratch.data, NULL) ==
              ${NAME}_ERROR_WEIGHTS,
          "weights that were never packed are refused");
$   pack()

$ local deeper = heavy and "    " or ""
$ if heavy then
    if (!patient && listed("${table.concat(plain_c, " ")}", isa)) {
        printf("%s: skipped, as it takes minutes unless asked for by --all: the ${which} without cache\n", isa);
    } else {
        static unsigned long long first[2]; /* of an instruction set that rounds as this one does */
        const unsigned long long others = bits;
        bits = 1;
$ end
    ${deeper}check(${name}_${which}(weights.data, NULL, 0, alone, x, ${layer_more}y, scratch.data, NULL) == 0,
    ${deeper}      "${which} without cache runs");
    ${deeper}check_layer(y, x, &w${own_parts}, alone, alone > 64 ? alone / 5 : 1${shape.mla and ", alone" or ""},
    ${deeper}            "${which} without cache is near the reference");
    ${deeper}hash(y, alone * D_MODEL);
$ if heavy then
        if (first[apart > 0] == 0)
            first[apart > 0] = bits;
        check(bits == first[apart > 0], "${which} without cache has the same bits on each instruction set");
        bits = others;
    }
$ end
    if (alone == rows) { /* else it would take long */
        memcpy(again, x, alone * D_MODEL * sizeof *x);
        check(${name}_${which}(weights.data, NULL, 0, alone, again, ${layer_more}again, shared.data, &backwards) == 0 &&
                  same(y, again, alone * D_MODEL),
              "${which} in place and with a pool has the same bits");
    }

    check(${layer_reset}(cache.data) == 0 &&
              ${name}_${which}(weights.data, cache.data, 0, rows, x, ${layer_more}y, scratch.data, NULL) == 0,
          "${which} with a cache runs");
    check_layer(y, x, &w${own_parts}, rows, rows > 8 ? 4 : 1${shape.mla and ", rows" or ""}, "${which} with a cache is near the reference");
    hash(y, rows * D_MODEL);
    if (alone == rows)
        check(same(y, again, rows * D_MODEL), "${which} with a cache has the bits of that without");

    good = ${layer_reset}(cache.data) == 0;
    for (i = 0; held < rows; i++, held += size) {
        size = chunk(i, rows - held);
        good = good && ${name}_${which}(weights.data, cache.data, held, size, x + held * D_MODEL,
                               ${from_row(layer_extras, "held")}again + held * D_MODEL, shared.data, &backwards) == 0;
    }
    held = ${NAME}_CAUSAL ? 0 : rows - size; /* else only the last chunk saw every key */
$ if shape.mla then
    /* The first chunk is a prompt of its own, whose rows are of the one form; from then on all are of
     * the other, to be repeated in single steps. */
    check(good, "${which} in chunks runs");
    check_layer(again, x, &w${own_parts}, rows, 1, chunk(0, rows), "${which} in chunks is near the reference");
    hash(again, rows * D_MODEL);
    memcpy(y, again, rows * D_MODEL * sizeof *y);
$ else
    check(good && same(y + held * D_MODEL, again + held * D_MODEL, (rows - held) * D_MODEL),
          "${which} in chunks has the bits of prefill");
$ end
    good = 1;
    for (i = rows > 4 ? rows - 4 : 0; i < rows; i++)
        good = good && ${name}_${which}(weights.data, cache.data, i, 1, x + i * D_MODEL,
                               ${from_row(layer_extras, "i")}again + i * D_MODEL, scratch.data, NULL) == 0;
    held = ${NAME}_CAUSAL ? 0 : rows - 1;
    check(good && same(y + held * D_MODEL, again + held * D_MODEL, (rows - held) * D_MODEL),
          "${which} in single steps has the bits of ${shape.mla and "chunks" or "prefill"}");

    check(${name}_${which}(weights.data, cache.data, CAPACITY, 1, x, ${layer_more}again, scratch.data, NULL) ==
              ${NAME}_ERROR_RANGE,
          "${which} past the capacity is refused");
$ if rope_switches then
    if (rows > ${NAME}_ROPE_ORIGINAL)
        check(${name}_cache_reset(cache.data) == 0 &&
                  ${name}_${which}(weights.data, cache.data, 0, rows, x, ${layer_more}again, scratch.data, NULL) ==
                      ${NAME}_ERROR_RANGE,
              "a long sequence in a cache for short ones is refused");
$ end
    check(${name}_${which}(weights.data, NULL, 1, 1, x, ${layer_more}again, scratch.data, NULL) ==
              ${NAME}_ERROR_RANGE,
          "${which} without cache at a position past 0 is refused");
$ end

    block_free(weights, "the packed weights are kept within their bytes");
    block_free(cache, "${which} keeps the cache within its bytes");
    block_free(scratch, "${which} stays within its scratch");
    block_free(shared, "${which} with a pool stays within its scratch");
    free_weights(w);
$   if whole then
    free_parts(own);
$   end
    free(x);
    free(y);
    free(again);
}
$ end
$ test_rows("layer")
$ if block then
$   test_rows("block")
$ end
$ end

/* ---- time ---- */

static double seconds(void)
{
#if defined(__wasi__) /* it has no clock of processes */
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* Attention of n positions among themselves, for a fifth of a second at least. */
static void print_speed(void)
{
    const size_t n = ${NAME}_EXACT ? CAPACITY : MIN(CAPACITY, (size_t)1024);
    const size_t left = ${NAME}_WINDOW > 0 ? MIN(${NAME}_WINDOW, n) : n;
    const size_t right = ${NAME}_CAUSAL ? 1 : ${NAME}_WINDOW_RIGHT > 0 ? MIN(${NAME}_WINDOW_RIGHT, n) : n;
    /* each sees `left` keys up to its own and `right` from it on, but at the ends */
    const double pairs = (double)n * (double)(left + right - 1) -
                         0.5 * ((double)left * (double)(left - 1) + (double)right * (double)(right - 1));
    block scratch = block_new(${NAME}_SCRATCH_BYTES);
    float *q = random_floats(n * Q_ROW, 2.0f, 1), *k = random_floats(n * K_ROW, 1.0f, 2);
    float *v = random_floats(n * V_ROW, 1.0f, 3), *out = floats(n * O_ROW);
    double start, once, best = 1e30, all = 0.0;
    int good = 1;
    do {
        start = seconds();
        good = good && ${name}_attention(q, k${values("v")}, n, n, ${unmasked(extras)}out, scratch.data, NULL) == 0;
        once = seconds() - start;
        best = MIN(best, once);
        all += once;
    } while (all < 0.2);
    check(good, "attention runs in the timing");
    printf("%s: attention of %lu positions: %.2f ms, %.1f GFLOP/s on one core\n", isa,
           (unsigned long)n, best * 1e3,
           2e-9 * pairs * (double)(HEADS * (HEAD_DIM + V_HEAD_DIM)) / best);
    block_free(scratch, "attention stays within its scratch in the timing");
    free(q);
    free(k);
    free(v);
    free(out);
}

/* ---- main ---- */

static double root(double x)
{
    double y = 1.0;
    int n;
    for (n = 0; n < 60; n++)
        y = 0.5 * (y + x / y);
    return y;
}

static void test_all(void)
{
    const unsigned passed_before = passed;
    bits = 14695981039346656037ULL;
    worst_share = worst_error = 0.0;
$ if shape.lse then
    lse = floats(MAX(MOST, MIN(CAPACITY, (size_t)1024)) * HEADS);
$ end
    check(strcmp(${name}_isa(), isa) == 0, "the forced instruction set is the one that runs");
$ if shape.sinks then
    random_state = 20;
    fill(sinks, HEADS, 4.0f);
$ end
$ if shape.relative_bias then
    random_state = 23;
    fill(relative_bias, ${NAME}_RELATIVE_BUCKETS * HEADS, 2.0f);
$ end
$ if masked then
    if (${biased and "bias" or "mask"} == NULL)
        make_${biased and "bias" or "mask"}();
$ end
    test_attention();
    test_cache(0, SHORT);
    if (LONG > SHORT)
        test_cache(LONG - TAIL, LONG);
$ if layout.cache.ring and layout.cache.positions <= 8192 then
    test_cache(ROUND - TAIL, ROUND);
$ end
$ if shape.lse then
    test_merge();
$ end
    test_errors();
$ if shape.emit ~= "attention" then
    test_layer();
$ end
$ if shape.block then
    test_block();
$ end
    printf("%s: %u passed, largest error %.1e, at most %.2f of the bound, bits %016llx\n", isa,
           passed - passed_before, worst_error, root(worst_share), bits);
}

int main(int argc, char **argv)
{
    static const char written[] = ${NAME}_ISAS;
    static char names[sizeof written]; /* each name of the list, at its own place */
    const char *only = NULL, *at = written;
    struct {
        const char *isa;
        unsigned long long bits;
    } first[2] = {{NULL, 0}, {NULL, 0}}; /* with a fused multiply-add, and without */
    int i, timed = 0, ran = 0;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--time") == 0)
            timed = 1;
$ if heavy then
        else if (strcmp(argv[i], "--all") == 0)
            patient = 1;
$ end
        else
            only = argv[i];
    }
    while (*at != '\0') {
        const size_t length = strcspn(at, " ");
        char *own = names + (at - written);
        memcpy(own, at, length);
        isa = own;
        at += length + strspn(at + length, " ");
        if (only != NULL && strcmp(only, isa) != 0)
            continue;
        if (${name}_use_isa(isa) != 0) {
            printf("%s: skipped, this CPU does not run it\n", isa);
            continue;
        }
        i = listed(${NAME}_UNFUSED_ISAS, isa);
        apart = i;
        test_all();
        if (first[i].isa == NULL) {
            first[i].isa = isa;
            first[i].bits = bits;
        } else if (bits != first[i].bits) {
            printf("%s: its bits differ from those of %s\n", isa, first[i].isa);
            failed++;
        } else {
            passed++;
        }
        ran++;
        if (timed)
            print_speed();
$ if shape.lse then
        free(lse);
$ end
    }
    if (ran == 0) {
        isa = only != NULL ? only : "any";
        check(0, "no such instruction set runs here; written are: " ${NAME}_ISAS);
    }
    check(${name}_use_isa(NULL) == 0, "the best instruction set is chosen again");
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
