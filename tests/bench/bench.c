/* How fast written kernels are, on this machine and as a share of what it could do.
 *
 *     bench [--seconds S] [--all] [--case TEXT] [--json] [--out DIR]
 *
 * For each kernel and case: first it is verified (the same bits from every instruction set and
 * number of threads; samples against plain loops in double), then timed, on a pinned CPU, in turns
 * with a loop of nothing but fused multiply-adds and with a loop that does nothing but read the
 * same bytes. Prints the minimum and the median of all calls.
 *
 *   --seconds S   for each contender of a case, on average (default 0.1; 0: every call just once)
 *   --all         the scalar kernels too
 *   --case TEXT   only cases whose name contains TEXT
 *   --json        prints JSON instead of the table
 *   --out DIR     writes DIR/bench.json, and DIR/bench.tsv for plots
 * Exit status: 0 done, 1 a result is wrong or something failed (then no JSON is written), 2 usage.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct options options = {.seconds = 0.1};
struct machine machine;

_Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- memory ---- */

enum { TASKS = 16, ALIGN = 4096 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

void *room(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGN, bytes + ALIGN))
        fail("out of memory", "the shape is too big for this machine");
    return memory;
}

/* Uniform in [-amplitude, amplitude); the same numbers everywhere. */
static float *filled(size_t count, float amplitude) {
    static uint32_t state = 1;
    float *made = room(count * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        made[i] = ((float)(state >> 8) - 0x1p23F) / 0x1p23F * amplitude;
    }
    return made;
}

/* A sink for each head, where a kernel takes them. */
static const float sinks[1024];
static float relative_bias[1 << 22]; /* zeros, as many as there may be */

/* What masks and biases of a prefill of n rows may show. */
static bool all_keys(size_t row, size_t key, size_t n) {
    (void)row, (void)key, (void)n;
    return true;
}

static bool all_but_100(size_t row, size_t key, size_t n) {
    (void)row;
    return key == 0 || key + 100 < n;
}

static bool earlier_keys(size_t row, size_t key, size_t n) {
    (void)n;
    return key <= row;
}

static bool half_of_them(size_t row, size_t key, size_t n) {
    return key == row || ((uint32_t)(row * n + key) * 2654435769U >> 31) != 0;
}

/* The prefills of kernels with a mask: without one, and with each of these. */
static const struct input {
    const char *name;
    bool biases; /* floats; else bytes */
    bool (*shows)(size_t row, size_t key, size_t n);
} inputs[] = {
    {"all bytes 1", false, all_keys},
    {"last 100 bytes 0", false, all_but_100},
    {"causal bytes", false, earlier_keys},
    {"bytes at random", false, half_of_them},
    {"biases", true, all_keys},
    {"causal biases", true, earlier_keys},
};

/* ---- what is timed ---- */

/* The keys that the query at position `at` sees, of `held`. */
static size_t first_key(const struct kernel *kernel, size_t at) {
    return kernel->window && at >= kernel->window ? at + 1 - kernel->window : 0;
}

static size_t end_of_keys(const struct kernel *kernel, size_t at, size_t held) {
    const size_t right = kernel->causal ? 1 : kernel->window_right;
    return right && at + right < held ? at + right : held;
}

/* Multiplications and additions; masked scores do not count. */
static double attention_flops(const struct kernel *kernel, size_t n, size_t pos,
                              const struct input *input) {
    double seen = 0;
    for (size_t row = 0; row < n; row++) {
        const size_t end = end_of_keys(kernel, pos + row, pos + n);
        for (size_t key = first_key(kernel, pos + row); key < end; key++)
            seen += !input || input->shows(row, key, n);
    }
    return 2 * seen * (double)(kernel->heads * (kernel->head_dim + kernel->v_head_dim));
}

/* Weights of the projections that each row is multiplied with. */
static double projection_weights(const struct kernel *kernel) {
    const struct mla *mla = kernel->mla;
    if (!mla)
        return (double)(kernel->d_model *
                        (q_width(kernel) + k_width(kernel) + v_width(kernel) + o_width(kernel)));
    const size_t q_inputs = mla->q_rank ? mla->q_rank : kernel->d_model;
    return (double)(mla->q_rank * kernel->d_model +
                    kernel->heads * (mla->nope_dim + mla->rope_dim) * q_inputs +
                    (mla->kv_rank + mla->rope_dim) * kernel->d_model +
                    kernel->heads * (mla->nope_dim + mla->v_head_dim) * mla->kv_rank +
                    kernel->heads * mla->v_head_dim * kernel->d_model);
}

/* A layer's. With mla the rows of a prompt take the expanded form as far as `expand`. */
static double layer_flops(const struct kernel *kernel, size_t n, size_t pos) {
    const double projections = 2.0 * (double)n * projection_weights(kernel);
    const double all = attention_flops(kernel, n, pos, NULL);
    const struct mla *mla = kernel->mla;
    if (!mla || pos > 0)
        return projections + all;
    const double early = attention_flops(kernel, smaller(n, mla->expand), 0, NULL);
    const double shorter = (double)(mla->nope_dim + mla->rope_dim + mla->v_head_dim) /
                           (double)(kernel->head_dim + kernel->v_head_dim);
    return projections + all - early + early * shorter;
}

static double feed_forward_flops(const struct kernel *kernel, size_t n) {
    const size_t matrices = kernel->block->gated ? 3 : 2;
    return 2.0 * (double)n * (double)kernel->d_model * (double)(matrices * kernel->block->ffn);
}

static void add_task(const struct kernel *kernel, struct task *list, size_t *count, enum kind kind,
                     size_t n, size_t pos, const struct input *input) {
    static const double most_flops = 8e10, most_bytes = 0x1p31;
    struct task task = {.kind = kind, .n = n, .pos = pos, .input = input};
    const double kv_bytes = (double)(pos + n) * (double)kernel->kv_bytes_per_token;
    switch (kind) {
    case ATTENTION:
        task.cached = pos > 0;
        task.flops = attention_flops(kernel, n, pos, input);
        task.bytes = kv_bytes + 4.0 * (double)(n * q_width(kernel));
        snprintf(task.name, sizeof task.name, pos ? "decode %zu%s%s" : "prefill %zu%s%s", pos + n,
                 input ? ", " : "", input ? input->name : "");
        break;
    case PROJECTION:
        task.flops = 2.0 * (double)(n * kernel->d_model * q_width(kernel));
        task.bytes = 4.0 * (double)kernel->d_model * (double)(n + q_width(kernel));
        snprintf(task.name, sizeof task.name, "project %zux%zux%zu", n, kernel->d_model,
                 q_width(kernel));
        break;
    case LAYER:
        task.cached = kernel->causal && !kernel->exact;
        task.flops = layer_flops(kernel, n, pos);
        task.bytes =
            kv_bytes + 4.0 * (double)(n * kernel->d_model) +
            (kernel->block ? (double)kernel->weights_bytes : 4.0 * (double)kernel->parameters);
        snprintf(task.name, sizeof task.name, pos ? "layer decode %zu" : "layer %zu", pos + n);
        break;
    case WHOLE_BLOCK:
        task.cached = kernel->causal && !kernel->exact;
        task.flops = layer_flops(kernel, n, pos) + feed_forward_flops(kernel, n);
        task.bytes = kv_bytes + 4.0 * (double)(kernel->parameters + n * kernel->d_model);
        snprintf(task.name, sizeof task.name, pos ? "whole block decode %zu" : "whole block %zu",
                 pos + n);
        break;
    }
    const bool wanted = !options.only || strstr(task.name, options.only);
    if (wanted && task.flops <= most_flops && kv_bytes <= most_bytes && *count < TASKS)
        list[(*count)++] = task;
}

/* The tasks of a kernel: prefill or layer at several lengths, one more position at several
 * contexts, a projection. Of cross attention the calls on q, k and v, with as many keys as queries.
 */
static size_t list_tasks(const struct kernel *kernel, struct task list[TASKS]) {
    static const size_t lengths[] = {128, 512, 1024, 2048}, contexts[] = {1024, 4096};
    const bool decodes = kernel->causal && !kernel->exact;
    const size_t capacity =
        kernel->cross ? smaller(kernel->capacity, kernel->cache_positions) : kernel->capacity;
    const enum kind kind = kernel->has_layer && !kernel->cross ? LAYER : ATTENTION;
    size_t count = 0;
    if (kernel->has_layer && !kernel->mla) {
        add_task(kernel, list, &count, PROJECTION, smaller(512, capacity), 0, NULL);
        add_task(kernel, list, &count, PROJECTION, 1, 0, NULL);
    }
    for (size_t i = kernel->has_layer ? 2 : 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!kernel->exact && lengths[i] < capacity)
            add_task(kernel, list, &count, kind, lengths[i], 0, NULL);
    add_task(kernel, list, &count, kind, capacity, 0, NULL);
    for (size_t i = 0; kernel->masked && kind == ATTENTION && i < sizeof inputs / sizeof *inputs;
         i++)
        if (inputs[i].biases == kernel->mask_bias)
            add_task(kernel, list, &count, kind, capacity, 0, &inputs[i]);
    for (size_t i = 0; decodes && i < sizeof contexts / sizeof *contexts; i++)
        if (contexts[i] < capacity)
            add_task(kernel, list, &count, kind, 1, contexts[i] - 1, NULL);
    if (decodes && capacity > 1)
        add_task(kernel, list, &count, kind, 1, capacity - 1, NULL);
    for (size_t i = 0; kernel->mla && decodes && i < sizeof contexts / sizeof *contexts; i++)
        if (contexts[i] < capacity) /* on latents */
            add_task(kernel, list, &count, ATTENTION, 1, contexts[i] - 1, NULL);
    if (kernel->mla && decodes && capacity > 1)
        add_task(kernel, list, &count, ATTENTION, 1, capacity - 1, NULL);
    if (kernel->block && !kernel->cross) {
        if (!kernel->exact && capacity > 480) /* as many rows as go together */
            add_task(kernel, list, &count, WHOLE_BLOCK, 480, 0, NULL);
        add_task(kernel, list, &count, WHOLE_BLOCK, capacity, 0, NULL);
        if (decodes && capacity > 1)
            add_task(kernel, list, &count, WHOLE_BLOCK, 1, capacity - 1, NULL);
    }
    return count;
}

size_t output_size(const struct kernel *kernel, const struct task *task) {
    return task->n * (task->kind == ATTENTION    ? o_width(kernel)
                      : task->kind == PROJECTION ? q_width(kernel)
                                                 : kernel->d_model);
}

/* ---- contenders: whoever is timed in turns ---- */

struct contender contender(void (*run)(struct contender *), struct subject *subject,
                           const struct task *task, const char *isa) {
    struct contender made = {.run = run, .subject = subject, .task = task, .isa = isa};
    made.vectors = isa ? vectors_of(isa) : NULL;
    made.threads = 1;
    made.best = INFINITY;
    made.times = room(SAMPLES * sizeof *made.times);
    return made;
}

static void record(struct contender *self, double time) {
    if (self->count < SAMPLES)
        self->times[self->count++] = time;
    if (time < self->best)
        self->best = time;
}

static void begin(struct contender *self) {
    if (self->isa && self->subject->kernel->use_isa(self->isa) != OK)
        fail(self->isa, "the kernel refuses it");
    if (self->threads > 1) {
        team_start(&self->team, &machine, self->threads);
        self->pool = team_pool(&self->team);
    }
}

static void end(struct contender *self) {
    if (self->threads > 1)
        team_stop(&self->team);
}

/* A turn is as many calls as fit some time, and three unless they are long: all but the first find
 * their data where they left them. */
static void take_turn(struct contender *self) {
    begin(self);
    const double start = seconds();
    double before = start, now;
    size_t calls = 0;
    do {
        self->run(self);
        now = seconds();
        if (!self->pieces)
            record(self, now - before);
        before = now;
        calls++;
    } while (options.seconds > 0 && (now - start < 5e-3 || (calls < 3 && now - start < 0.05)));
    end(self);
}

static void time_all(struct contender *all, size_t count) {
    const double start = seconds();
    size_t rounds = 0;
    do
        for (size_t i = 0; i < count; i++)
            take_turn(&all[i]);
    while (options.seconds > 0 &&
           (++rounds < 3 || seconds() - start < options.seconds * (double)count));
}

static void expect(const struct contender *self, int status) {
    char what[64];
    if (status == OK)
        return;
    snprintf(what, sizeof what, "gives status %d", status);
    fail(self->task->name, what);
}

static void run_ours(struct contender *self) {
    struct subject *own = self->subject;
    const struct kernel *kernel = own->kernel;
    const struct task *task = self->task;
    const struct pool *pool = self->threads > 1 ? &self->pool : NULL;
    if (task->kind == PROJECTION)
        own->parts->project(WQ, own->weights, own->x, task->n, own->out);
    else if (task->kind == WHOLE_BLOCK)
        expect(self,
               kernel->block_call(own->block_weights, task->cached ? own->cache : NULL, task->pos,
                                  task->n, own->x, &own->extras, own->out, own->scratch, pool));
    else if (task->kind == LAYER)
        expect(self, kernel->layer(own->weights, task->cached ? own->cache : NULL, task->pos,
                                   task->n, own->x, &own->extras, own->out, own->scratch, pool));
    else if (task->cached)
        expect(self, kernel->cache_attention(own->cache, task->pos, task->n, own->q, &own->extras,
                                             own->out, own->scratch, pool));
    else
        expect(self, kernel->attention(own->q, own->k, own->v, task->n, task->n, &own->extras,
                                       own->out, own->scratch, pool));
}

/* The layer piece by piece, each timed by itself; the bits must be the layer's. */
static void run_pieces(struct contender *self) {
    struct subject *own = self->subject;
    const struct kernel *kernel = own->kernel;
    const struct task *task = self->task;
    float *k = own->k + task->pos * k_width(kernel), *v = own->v + task->pos * v_width(kernel);
    double at[PIECES + 1];
    at[0] = seconds();
    own->parts->project(WQ, own->weights, own->x, task->n, own->q);
    own->parts->project(WK, own->weights, own->x, task->n, k);
    own->parts->project(WV, own->weights, own->x, task->n, v);
    at[1] = seconds();
    if (own->parts->prepare)
        own->parts->prepare(own->weights, own->q, k, task->n, task->pos);
    at[2] = seconds();
    if (task->cached) {
        expect(self, kernel->cache_append(own->cache, task->pos, task->n, k, v));
        expect(self, kernel->cache_attention(own->cache, task->pos, task->n, own->q, &own->extras,
                                             own->mixed, own->scratch, NULL));
    } else {
        expect(self, kernel->attention(own->q, own->k, own->v, task->n, task->n, &own->extras,
                                       own->mixed, own->scratch, NULL));
    }
    at[3] = seconds();
    own->parts->project(WO, own->weights, own->mixed, task->n, own->out);
    at[4] = seconds();
    for (size_t i = 0; i < PIECES; i++)
        record(&self->pieces[i], at[i + 1] - at[i]);
}

void run_fma(struct contender *self) { self->vectors->fma(); }

/* The bytes that a task of one row reads, as `use` gets them, span by span; their sum. */
static size_t each_span(const struct contender *self,
                        void (*use)(const struct contender *, const char *, size_t)) {
    const struct subject *own = self->subject;
    const struct kernel *kernel = own->kernel;
    const size_t least = 2048;
    size_t sum = 0;
    if (self->task->kind != ATTENTION) {
        const bool block = self->task->kind == WHOLE_BLOCK;
        const size_t all = block                       ? kernel->block->weights_bytes
                           : self->task->kind == LAYER ? kernel->weights_bytes
                                                       : q_width(kernel) * kernel->d_model * 4;
        const size_t bytes = all / least * least;
        if (use)
            use(self, block ? own->block_weights : own->weights, bytes);
        sum += bytes;
    }
    if (self->task->kind != PROJECTION) {
        /* a KV head's memory begins with its first blocks of 512 keys and values */
        const size_t head = (kernel->cache_bytes - kernel->align) / kernel->kv_heads;
        const size_t blocks = (self->task->pos + self->task->n + 511) / 512;
        const size_t used = blocks * 512 * (kernel->kv_bytes_per_token / kernel->kv_heads);
        const size_t bytes = smaller(used, head) / least * least;
        for (size_t i = 0; i < kernel->kv_heads; i++) {
            if (use)
                use(self, (const char *)own->cache + kernel->align + i * head, bytes);
            sum += bytes;
        }
    }
    return sum;
}

static void read_span(const struct contender *self, const char *from, size_t bytes) {
    self->vectors->read(from, bytes, self->streams);
}

void run_read(struct contender *self) { each_span(self, read_span); }

size_t read_bytes(const struct contender *self) { return each_span(self, NULL); }

/* ---- plain loops ---- */

static _Noreturn void refuse(const struct subject *own, const struct task *task, const char *isa,
                             const char *why) {
    fprintf(stderr, "bench: %s %s, %s: refused, %s\n", own->kernel->name, isa, task->name, why);
    exit(1);
}

static void near_enough(const struct subject *own, const struct task *task, double got, double want,
                        double allowed) {
    char why[160];
    if (fabs(got - want) <= allowed) /* NaN is not */
        return;
    snprintf(why, sizeof why, "it gives %.9g where plain loops give %.9g", got, want);
    refuse(own, task, own->isas[0], why);
}

/* What ALiBi multiplies the distance of a key with. */
static double slope(const struct kernel *kernel, size_t head) {
    size_t p = 1;
    while (p * 2 <= kernel->heads)
        p *= 2;
    const double share =
        head < p ? (double)(head + 1) / (double)p : (double)(2 * (head - p) + 1) / (double)(2 * p);
    return kernel->alibi ? kernel->alibi_scale * exp2(-kernel->alibi_bias_max * share) : 0;
}

/* What the caller's biases add to a score that they show. */
static double given_bias(const struct subject *own, const struct task *task, size_t row,
                         size_t head, size_t key) {
    if (!task->input || !task->input->biases)
        return 0;
    return (double)
        own->extras.bias[row * own->extras.bias_stride + head * own->extras.bias_head_stride + key];
}

/* Head `head` of row `row`: the textbook's formula in double. */
static void check_head(const struct subject *own, const struct task *task, const float *out,
                       size_t row, size_t head) {
    const struct kernel *kernel = own->kernel;
    const size_t kv_head = head * kernel->kv_heads / kernel->heads;
    const size_t keys = end_of_keys(kernel, task->pos + row, task->pos + task->n);
    const size_t first = first_key(kernel, task->pos + row);
    const float *q = own->q + row * q_width(kernel) + head * kernel->head_dim;
    double *weights = room(keys * sizeof *weights);
    const double bias = slope(kernel, head), cap = kernel->softcap;
    double most = kernel->sinks ? (double)sinks[head] : -INFINITY, size = 0;
    for (size_t j = first; j < keys; j++) {
        double sum = 0, absolute = 0;
        for (size_t d = 0; d < kernel->head_dim; d++) {
            const double product =
                (double)q[d] * (double)own->k[j * k_width(kernel) + kv_head * kernel->head_dim + d];
            sum += product;
            absolute += fabs(product);
        }
        const double score = sum * kernel->scale;
        const double distance = (double)j - (double)(task->pos + row);
        weights[j] = (cap > 0 ? cap * tanh(score / cap) : score) + bias * distance;
        if (task->input && !task->input->shows(row, j, task->n)) {
            weights[j] = -INFINITY;
            continue;
        }
        const double given = given_bias(own, task, row, head, j);
        weights[j] += given;
        most = fmax(most, weights[j]);
        size = fmax(size, absolute * kernel->scale + fabs(bias * distance) + fabs(given));
    }
    double total = kernel->sinks ? exp((double)sinks[head] - most) : 0;
    for (size_t j = first; j < keys; j++)
        total += weights[j] = exp(weights[j] - most);
    for (size_t d = 0; d < kernel->v_head_dim; d++) {
        double sum = 0, absolute = 0;
        for (size_t j = first; j < keys; j++) {
            /* with mla, values are the first channels of the keys */
            const double value =
                kernel->mla
                    ? (double)own->k[j * k_width(kernel) + d]
                    : (double)own->v[j * v_width(kernel) + kv_head * kernel->v_head_dim + d];
            sum += weights[j] / total * value;
            absolute += weights[j] / total * fabs(value);
        }
        near_enough(own, task, (double)out[row * o_width(kernel) + head * kernel->v_head_dim + d],
                    sum, 1e-6 * (4 + size) * absolute);
    }
    free(weights);
}

static void check_attention(const struct subject *own, const struct task *task, const float *out) {
    const size_t heads = own->kernel->heads;
    const size_t some_rows[] = {0, task->n / 2, task->n - 1};
    const size_t some_heads[] = {0, heads / 2, heads - 1};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            check_head(own, task, out, some_rows[i], some_heads[j]);
}

static void check_projection(const struct subject *own, const struct task *task, const float *w,
                             const float *bias, const float *x, size_t inputs, size_t outputs,
                             const float *y) {
    const size_t rows[] = {0, task->n / 2, task->n - 1};
    const size_t columns[] = {0, outputs / 2, outputs - 1};
    for (size_t i = 0; i < 9; i++) {
        const size_t row = rows[i / 3], column = columns[i % 3];
        double sum = bias ? (double)bias[column] : 0, absolute = fabs(sum);
        for (size_t d = 0; d < inputs; d++) {
            const size_t at =
                own->kernel->weights_in_out ? d * outputs + column : column * inputs + d;
            const double product = (double)x[row * inputs + d] * (double)w[at];
            sum += product;
            absolute += fabs(product);
        }
        near_enough(own, task, (double)y[row * outputs + column], sum, 1e-5 * absolute);
    }
}

/* ---- verifying ---- */

/* Whether the task is a layer that runs piece by piece, too. */
static bool has_pieces(const struct subject *own, const struct task *task) {
    return task->kind == LAYER && own->parts->project;
}

/* The numbers of whole blocks and of layers with mla are the suite's to check: here they must be
 * some. */
static void check_finite(const struct subject *own, const struct task *task) {
    for (size_t i = 0; i < output_size(own->kernel, task); i++)
        if (!isfinite(own->out[i]))
            refuse(own, task, own->isas[0], "it gives a number that is none");
}

/* Every one of ours must give the same bits, and samples of them what plain loops give. */
static void verify(struct subject *own, const struct task *task, struct contender *ours,
                   size_t count) {
    const struct kernel *kernel = own->kernel;
    const size_t bytes = output_size(kernel, task) * sizeof(float);
    for (size_t i = 0; i < count; i++) {
        memset(own->out, 0xff, bytes);
        begin(&ours[i]);
        ours[i].run(&ours[i]);
        end(&ours[i]);
        if (i == 0)
            memcpy(own->expected, own->out, bytes);
        else if (memcmp(own->expected, own->out, bytes) != 0)
            refuse(own, task, ours[i].isa,
                   ours[i].pieces        ? "its bits are not those of its pieces"
                   : ours[i].threads > 1 ? "its bits change with the threads"
                                         : "its bits are not those of another instruction set");
    }
    const struct weights *w = &own->source;
    const float *x = own->x, *v = own->v + task->pos * v_width(kernel);
    if (task->kind == WHOLE_BLOCK || (task->kind == LAYER && !has_pieces(own, task)))
        check_finite(own, task);
    else if (task->kind != PROJECTION)
        check_attention(own, task, task->kind == LAYER ? own->mixed : own->out);
    if (task->kind == PROJECTION)
        check_projection(own, task, w->wq, w->bq, x, kernel->d_model, q_width(kernel), own->out);
    if (has_pieces(own, task)) { /* the last one ran piece by piece */
        check_projection(own, task, w->wv, w->bv, x, kernel->d_model, v_width(kernel), v);
        check_projection(own, task, w->wo, w->bo, own->mixed, o_width(kernel), kernel->d_model,
                         own->out);
    }
    for (size_t i = 0; i < count; i++)
        ours[i].count = 0, ours[i].best = INFINITY;
}

/* ---- one task ---- */

struct contender *enter(struct field *field, struct contender who) {
    if (field->count == sizeof field->all / sizeof *field->all)
        fail("contenders", "too many");
    field->all[field->count] = who;
    return &field->all[field->count++];
}

static void enter_ours(struct field *field, struct subject *own, const struct task *task) {
    for (size_t i = 0; i < own->isa_count; i++) {
        enter(field, contender(run_ours, own, task, own->isas[i]));
        if (machine.count > 1 && task->kind != PROJECTION)
            enter(field, contender(run_ours, own, task, own->isas[i]))->threads = 2;
    }
    for (size_t i = 0; i < own->isa_count && has_pieces(own, task); i++) {
        for (size_t j = 0; j < PIECES; j++)
            field->pieces[i][j] = contender(NULL, own, task, own->isas[i]);
        enter(field, contender(run_pieces, own, task, own->isas[i]))->pieces = field->pieces[i];
    }
    field->ours = field->count;
}

static void enter_limits(struct field *field, struct subject *own, const struct task *task) {
    for (size_t i = 0; i < own->isa_count; i++) {
        const struct vectors *vectors = vectors_of(own->isas[i]);
        if (!vectors)
            continue;
        enter(field, contender(run_fma, own, task, vectors->isa));
        for (size_t streams = 1; task->n == 1 && streams <= 8; streams *= 2)
            enter(field, contender(run_read, own, task, vectors->isa))->streams = streams;
    }
}

/* Rows of instruction set `index`: the whole, two threads, the pieces of a layer. */
static void report(struct field *field, struct subject *own, const struct task *task,
                   size_t index) {
    static const char *const names[PIECES] = {"project in", "rotate", "attend", "project out"};
    const char *isa = own->isas[index];
    const struct kernel *kernel = own->kernel;
    double two = NAN;
    const size_t first = row_count;
    for (size_t i = 0; i < field->ours; i++)
        if (field->all[i].run == run_ours && strcmp(field->all[i].isa, isa) == 0)
            set_limits(add_row(&field->all[i], NULL), field, isa);
    if (row_count > first + 1)
        two = rows[first].min / rows[first + 1].min;
    for (size_t i = field->plain; i < field->count; i++)
        if (field->all[i].run == run_ours && strcmp(field->all[i].isa, isa) == 0)
            rows[first].plain = rows[first].min / field->all[i].best;
    if (has_pieces(own, task)) {
        struct contender *pieces = field->pieces[index];
        const double out_flops = 2.0 * (double)(task->n * kernel->d_model * o_width(kernel));
        const double attend_flops = attention_flops(kernel, task->n, task->pos, NULL);
        const double flops[PIECES] = {task->flops - attend_flops - out_flops, NAN, attend_flops,
                                      out_flops};
        double sum = 0;
        for (size_t i = 0; i < PIECES; i++) {
            sum += pieces[i].best;
            if (i == ROTATE && !own->parts->prepare)
                continue;
            struct row *row = add_row(&pieces[i], names[i]);
            row->flops = flops[i];
            row->bytes = row->rate = NAN;
            set_limits(row, field, isa);
        }
        rows[first].pieces = sum / rows[first].min;
    }
    print_row(&rows[first], two);
    for (size_t i = first + 1; i < row_count; i++)
        if (rows[i].threads == 1)
            print_row(&rows[i], NAN);
}

/* The task's mask, or its biases, as the call takes them. */
static void give_input(struct subject *own, const struct task *task) {
    const size_t n = task->n, heads = own->kernel->mask_heads ? own->kernel->heads : 1;
    own->extras = (struct extras){.sinks = sinks,
                                  .relative_bias = relative_bias,
                                  .end_key = SIZE_MAX,
                                  .mask_stride = n,
                                  .bias_stride = n,
                                  .bias_head_stride = own->kernel->mask_heads ? n * n : 0};
    if (!task->input)
        return;
    if (task->input->biases)
        own->extras.bias = own->given = filled(heads * n * n, 1);
    else
        own->extras.mask = own->given = room(n * n);
    for (size_t i = 0; i < heads * n * n; i++) {
        const bool shows = task->input->shows(i / n % n, i % n, n);
        if (!task->input->biases)
            ((unsigned char *)own->given)[i] = shows;
        else if (!shows)
            ((float *)own->given)[i] = -INFINITY;
    }
}

static void prepare(struct subject *own, const struct task *task) {
    give_input(own, task);
    if (!task->cached)
        return;
    const bool appends = task->kind == LAYER || task->kind == WHOLE_BLOCK;
    const size_t held = appends ? task->pos : task->pos + task->n;
    const struct kernel *kernel = own->kernel;
    const bool is_long =
        kernel->cache_reset_long && task->pos + task->n > kernel->scaling->original;
    bool filled_up = (is_long ? kernel->cache_reset_long : kernel->cache_reset)(own->cache) == OK;
    for (size_t at = 0; at < held && filled_up; at += kernel->chunk) /* a ring takes no more */
        filled_up = kernel->cache_append(own->cache, at, smaller(held - at, kernel->chunk),
                                         own->k + at * k_width(kernel),
                                         own->v + at * v_width(kernel)) == OK;
    if (!filled_up)
        fail(own->kernel->name, "the cache cannot be filled");
}

/* Whether scores, masks or windows are others than those of the plainest attention. */
static bool has_features(const struct kernel *kernel) {
    return kernel->softcap > 0 || kernel->alibi || kernel->sinks || kernel->relative_buckets ||
           kernel->masked || kernel->window || kernel->window_right || kernel->key_range ||
           kernel->lse;
}

/* The same attention without features, if it is among those that are timed. */
static const struct parts *plain_of(const struct kernel *kernel) {
    for (size_t i = 0; i < parts_count && has_features(kernel); i++) {
        const struct kernel *plain = parts[i]->kernel;
        if (!has_features(plain) && plain->heads == kernel->heads &&
            plain->kv_heads == kernel->kv_heads && plain->head_dim == kernel->head_dim &&
            plain->v_head_dim == kernel->v_head_dim && plain->capacity == kernel->capacity &&
            plain->causal == kernel->causal && plain->has_layer == kernel->has_layer)
            return parts[i];
    }
    return NULL;
}

/* A prefill's plain twin, to be timed in turns with it. It shares the memory of `own`. */
static void enter_plain(struct field *field, const struct subject *own, const struct task *task,
                        struct subject *plain) {
    *plain = *own;
    plain->parts = task->kind == ATTENTION && !task->cached ? plain_of(own->kernel) : NULL;
    field->plain = field->count;
    if (!plain->parts)
        return;
    plain->kernel = plain->parts->kernel;
    if (plain->kernel->scratch_bytes(1) > own->kernel->scratch_bytes(2))
        fail(plain->kernel->name, "it needs more scratch than with features");
    for (size_t i = 0; i < own->isa_count; i++)
        enter(field, contender(run_ours, plain, task, own->isas[i]));
}

static void run_task(struct subject *own, const struct task *task) {
    struct field *field = room(sizeof *field);
    struct subject plain;
    field->count = 0;
    prepare(own, task);
    enter_ours(field, own, task);
    verify(own, task, field->all, field->ours);
    enter_plain(field, own, task, &plain);
    enter_limits(field, own, task);
    if (enter_peers && task->kind != WHOLE_BLOCK && !own->kernel->mla)
        enter_peers(field, own, task);
    time_all(field->all, field->count);
    const size_t first = row_count;
    for (size_t i = 0; i < own->isa_count; i++)
        report(field, own, task, i);
    if (report_peers)
        report_peers(field, first);
    for (size_t i = 0; i < field->count; i++)
        free(field->all[i].times);
    for (size_t i = 0; i < own->isa_count && has_pieces(own, task); i++)
        for (size_t j = 0; j < PIECES; j++)
            free(field->pieces[i][j].times);
    free(field);
    free(own->given);
    own->given = NULL;
}

/* ---- one block of keys: what a prefill could reach if nothing had to be fetched or packed ---- */

enum { BLOCK_ROWS = 128 };

static void run_block(struct contender *self) {
    struct subject *own = self->subject;
    own->parts->attend_block(BLOCK_ROWS, own->q, (const float *)own->cache + 16, own->out,
                             own->scratch);
}

static const struct pass *softmax_of(const struct parts *parts, const char *isa) {
    for (const struct pass *pass = parts->softmaxes; pass->isa; pass++)
        if (strcmp(pass->isa, isa) == 0)
            return pass;
    return NULL;
}

/* Its softmax alone; the scores become weights, and those weights again. */
static void run_softmax(struct contender *self) {
    static float s[BLOCK_ROWS * SCORE_STRIDE], m[BLOCK_ROWS], l[BLOCK_ROWS * 16], decay[BLOCK_ROWS];
    static int limit[BLOCK_ROWS];
    const size_t rows = self->task->n;
    for (size_t i = 0; i < rows; i++)
        limit[i] = BLOCK_KEYS;
    softmax_of(self->subject->parts, self->isa)->run(s, m, l, decay, (int)rows, limit);
}

static void run_blocks(struct subject *own) { /* its memory holds BLOCK_ROWS and BLOCK_KEYS */
    const struct kernel *kernel = own->kernel;
    const size_t wanted = BLOCK_KEYS;
    struct task task = {.kind = ATTENTION, .name = "block"};
    struct field *field = room(sizeof *field);
    for (size_t i = 0; i < own->isa_count; i++) {
        if (!vectors_of(own->isas[i]) || kernel->use_isa(own->isas[i]) != OK)
            continue;
        field->count = 0;
        if (kernel->cache_reset(own->cache) != OK ||
            kernel->cache_append(own->cache, 0, wanted, own->k, own->v) != OK)
            fail(kernel->name, "the cache cannot be filled");
        task.n = own->parts->attend_block(BLOCK_ROWS, own->q, (const float *)own->cache + 16,
                                          own->out, own->scratch);
        if (task.n == 0) /* a group of heads has more rows than go together */
            continue;
        task.flops = 2 * (double)(task.n * wanted * (kernel->head_dim + kernel->v_head_dim));
        enter(field, contender(run_block, own, &task, own->isas[i]));
        const bool alone = softmax_of(own->parts, own->isas[i]) != NULL;
        if (alone)
            enter(field, contender(run_softmax, own, &task, own->isas[i]));
        field->ours = field->count;
        enter(field, contender(run_fma, own, &task, own->isas[i]))->vectors =
            vectors_of(own->isas[i]);
        time_all(field->all, field->count);
        struct row *row = add_row(&field->all[0], NULL);
        row->rate = NAN;
        set_limits(row, field, own->isas[i]);
        print_row(row, NAN);
        if (alone) {
            row = add_row(&field->all[1], "softmax");
            row->flops = row->rate = NAN;
            print_row(row, NAN);
        }
        for (size_t j = 0; j < field->count; j++)
            free(field->all[j].times);
    }
    free(field);
}

/* ---- one kernel ---- */

static void list_isas(struct subject *own) {
    const char *from = own->kernel->isas;
    while (*from && own->isa_count < SETS) {
        const size_t size = strcspn(from, " ");
        char *id = own->isas[own->isa_count];
        snprintf(id, ID_SIZE, "%.*s", (int)size, from);
        from += size + (from[size] == ' ');
        const bool slow = strcmp(id, "scalar") == 0 || strstr(own->kernel->unfused, id);
        if (slow && !options.scalar)
            continue;
        if (own->kernel->use_isa(id) == OK)
            own->isa_count++;
        else
            fprintf(stderr, "bench: %s: skipped %s, which this CPU does not run\n",
                    own->kernel->name, id);
    }
}

/* Those of a layer with mla. */
static struct weights make_latent_weights(const struct kernel *kernel) {
    const struct mla *mla = kernel->mla;
    const size_t inputs = kernel->d_model, heads = kernel->heads;
    const size_t q_inputs = mla->q_rank ? mla->q_rank : inputs, o_inputs = heads * mla->v_head_dim;
    const float in = sqrtf(3.0F / (float)inputs), q_in = sqrtf(3.0F / (float)q_inputs);
    const float latent = sqrtf(3.0F / (float)mla->kv_rank), out = sqrtf(3.0F / (float)o_inputs);
    return (struct weights){
        .wq = filled(heads * (mla->nope_dim + mla->rope_dim) * q_inputs, q_in),
        .wk = filled((mla->kv_rank + mla->rope_dim) * inputs, in),
        .wv = filled(heads * (mla->nope_dim + mla->v_head_dim) * mla->kv_rank, latent),
        .wo = filled(inputs * o_inputs, out),
        .wq_a = filled(mla->q_rank * inputs, in),
        .bq = filled(mla->q_rank, 1),
        .bk = filled(mla->kv_rank + mla->rope_dim, 1),
        .bo = filled(inputs, 1),
        .q_norm = filled(mla->q_rank, 1),
        .k_norm = filled(mla->kv_rank, 1),
        .sinks = sinks,
        .relative_bias = relative_bias,
    };
}

static struct weights make_weights(const struct kernel *kernel) {
    if (kernel->mla)
        return make_latent_weights(kernel);
    const size_t inputs = kernel->d_model;
    const float in = sqrtf(3.0F / (float)inputs), out = sqrtf(3.0F / (float)o_width(kernel));
    struct weights made = {
        .wq = filled(q_width(kernel) * inputs, in),
        .wk = filled(k_width(kernel) * inputs, in),
        .wv = filled(v_width(kernel) * inputs, in),
        .wo = filled(o_width(kernel) * inputs, out),
    };
    if (kernel->qkv_bias) {
        made.bq = filled(q_width(kernel), 1);
        made.bk = filled(k_width(kernel), 1);
        made.bv = filled(v_width(kernel), 1);
    }
    if (kernel->o_bias)
        made.bo = filled(inputs, 1);
    made.sinks = sinks;
    made.relative_bias = relative_bias;
    if (kernel->qk_norm) { /* as many as any norm has */
        made.q_norm = filled(q_width(kernel), 1);
        made.k_norm = filled(k_width(kernel), 1);
        made.q_norm_bias = filled(q_width(kernel), 1);
        made.k_norm_bias = filled(k_width(kernel), 1);
    }
    return made;
}

/* What a block has besides; the same numbers stand for all vectors. */
static void make_block(struct subject *own) {
    const struct kernel *kernel = own->kernel;
    const size_t inputs = kernel->d_model, ffn = kernel->block->ffn;
    const float in = sqrtf(3.0F / (float)inputs), out = sqrtf(3.0F / (float)ffn);
    float *const vector = filled(larger(inputs, ffn), 1);
    const struct block_weights source = {.attention_norm = vector,
                                         .attention_norm_bias = vector,
                                         .attention_post_norm = vector,
                                         .attention_post_norm_bias = vector,
                                         .ffn_norm = vector,
                                         .ffn_norm_bias = vector,
                                         .ffn_post_norm = vector,
                                         .ffn_post_norm_bias = vector,
                                         .attention_scale = vector,
                                         .ffn_scale = vector,
                                         .w_gate = filled(ffn * inputs, in),
                                         .w_up = filled(ffn * inputs, in),
                                         .w_down = filled(inputs * ffn, out),
                                         .b_gate = vector,
                                         .b_up = vector,
                                         .b_down = vector};
    own->block_weights = room(kernel->block->weights_bytes);
    if (kernel->pack_block_weights(&own->source, &source, own->block_weights) != OK)
        fail(kernel->name, "its block's weights cannot be packed");
    free((void *)source.w_gate);
    free((void *)source.w_up);
    free((void *)source.w_down);
    free(vector);
}

static void free_weights(const struct weights *weights) {
    const float *all[] = {
        weights->wq,          weights->wk,          weights->wv,  weights->wo,     weights->bq,
        weights->bk,          weights->bv,          weights->bo,  weights->q_norm, weights->k_norm,
        weights->q_norm_bias, weights->k_norm_bias, weights->wq_a};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free((void *)all[i]);
}

static void run_subject(const struct parts *parts) {
    struct subject own = {.parts = parts, .kernel = parts->kernel};
    const struct kernel *kernel = own.kernel;
    struct task list[TASKS];
    const size_t count = list_tasks(kernel, list);
    const bool block = kernel->cache_positions >= BLOCK_KEYS && !kernel->window &&
                       (!options.only || strstr("block", options.only));
    size_t most = block ? BLOCK_ROWS : 0, keys = block ? BLOCK_KEYS : 0;
    size_t out = most * o_width(kernel);
    list_isas(&own);
    if ((!count && !block) || !own.isa_count)
        return;
    for (size_t i = 0; i < count; i++) {
        most = larger(most, list[i].n);
        keys = larger(keys, list[i].pos + list[i].n);
        out = larger(out, output_size(kernel, &list[i]));
    }
    own.q = filled(most * q_width(kernel), 1);
    own.k = filled(keys * k_width(kernel), 1);
    own.v = filled(keys * v_width(kernel), 1);
    own.x = filled(most * kernel->d_model, 1);
    own.mixed = room(most * o_width(kernel) * sizeof(float));
    own.out = room(out * sizeof(float));
    own.expected = room(out * sizeof(float));
    own.cache = room(kernel->cache_bytes);
    own.scratch = room(kernel->scratch_bytes(2));
    if (kernel->has_layer) {
        own.source = make_weights(kernel);
        own.weights = room(kernel->weights_bytes);
        if (kernel->pack_weights(&own.source, own.weights) != OK)
            fail(kernel->name, "its weights cannot be packed");
        if (kernel->block)
            make_block(&own);
    }
    if (!options.json)
        print_subject(&own);
    for (size_t i = 0; i < count; i++)
        run_task(&own, &list[i]);
    if (block)
        run_blocks(&own);
    free_weights(&own.source);
    void *all[] = {own.q,        own.k,     own.v,       own.x,       own.mixed,        own.out,
                   own.expected, own.cache, own.scratch, own.weights, own.block_weights};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static int usage(const char *program) {
    fprintf(stderr, "usage: %s [--seconds S] [--all] [--case TEXT] [--json] [--out DIR]\n",
            program);
    return 2;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *rest;
        if (strcmp(argv[i], "--all") == 0) {
            options.scalar = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            options.json = true;
        } else if (strcmp(argv[i], "--case") == 0 && value) {
            options.only = argv[++i];
        } else if (strcmp(argv[i], "--out") == 0 && value) {
            options.out = argv[++i];
        } else if (strcmp(argv[i], "--seconds") == 0 && value) {
            options.seconds = strtod(argv[++i], &rest);
            if (*rest || rest == value || !(options.seconds >= 0))
                return usage(argv[0]);
        } else {
            return usage(argv[0]);
        }
    }
    machine = machine_take(options.seconds > 0);
    if (start_peers)
        start_peers();
    if (!options.json)
        print_head();
    for (size_t i = 0; i < parts_count; i++)
        run_subject(parts[i]);
    if (print_ratios && !options.json)
        print_ratios();
    if (options.json)
        print_json(stdout);
    if (options.out)
        write_results();
    free(rows);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
