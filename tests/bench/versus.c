/* Other libraries on the same inputs, in turns with ours. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "peer.h"

extern const struct peer openblas, onednn, libxsmm, ort_mha, ort_attention, ort_gqa, ort_matmul;
static const struct peer *const peers[] = {&openblas,      &onednn,  &libxsmm,   &ort_mha,
                                           &ort_attention, &ort_gqa, &ort_matmul};
enum { PEERS = sizeof peers / sizeof *peers };
static bool peer_is_here[PEERS];

void start_peers(void) {
    for (size_t i = 0; i < PEERS; i++) {
        peer_is_here[i] = peers[i]->start(peers[i]);
        if (!peer_is_here[i])
            fprintf(stderr, "bench: %s is missing: `make setup-peers` installs it\n",
                    peers[i]->name);
    }
}

static void run_peer(struct contender *self) { self->peer->run(self->state); }

/* What a peer is to compute; false if this is nothing for peers. `w` is to be freed. */
static bool peer_case_of(const struct subject *own, const struct task *task, struct peer_case *what,
                         float **w) {
    const struct kernel *kernel = own->kernel;
    const size_t depth = kernel->d_model, columns = q_width(kernel);
    *w = NULL;
    *what = (struct peer_case){
        .heads = kernel->heads,
        .kv_heads = kernel->kv_heads,
        .head_dim = kernel->head_dim,
        .v_head_dim = kernel->v_head_dim,
        .n_q = task->n,
        .n_kv = task->pos + task->n,
        .causal = kernel->causal,
        .scale = (float)kernel->scale,
    };
    if (task->kind == ATTENTION) {
        what->q = own->q;
        what->k = own->k;
        what->v = own->v;
        return true;
    }
    *what = (struct peer_case){.rows = task->n, .depth = depth, .columns = columns, .x = own->x};
    what->w = own->source.wq;
    if (!kernel->weights_in_out) {
        *w = room(depth * columns * sizeof **w);
        for (size_t i = 0; i < columns; i++)
            for (size_t j = 0; j < depth; j++)
                (*w)[j * columns + i] = own->source.wq[i * depth + j];
        what->w = *w;
    }
    return task->kind == PROJECTION;
}

/* Whether a peer's result is ours, to a thousandth of the usual size of a value. */
static bool same_result(const struct subject *own, const struct task *task, const float *result) {
    const size_t count = output_size(own->kernel, task);
    const float *bias = task->kind == PROJECTION ? own->source.bq : NULL;
    double squares = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        const double ours =
            (double)own->expected[i] - (bias ? (double)bias[i % q_width(own->kernel)] : 0);
        const double error = fabs((double)result[i] - ours);
        squares += ours * ours;
        if (!(error <= worst)) /* NaN stays */
            worst = error;
    }
    return worst <= 1e-3 * sqrt(squares / (double)count);
}

/* The best way to call a peer, found by trying them all; NULL if none does it right. */
static void *open_best(const struct peer *peer, const struct subject *own, const struct task *task,
                       const struct peer_case *what) {
    void *best = NULL;
    double least = INFINITY;
    bool right = true;
    float *result = room(output_size(own->kernel, task) * sizeof *result);
    for (size_t way = 0; way < peer->ways; way++) {
        void *state = peer->open(peer, what, way);
        if (!state)
            continue;
        double time = INFINITY, now = seconds();
        const double start = now;
        do { /* a short one several times: the first call is slower */
            const double before = now;
            peer->run(state);
            now = seconds();
            time = fmin(time, now - before);
        } while (now - start < options.seconds / 5);
        peer->result(state, result);
        const bool same = same_result(own, task, result);
        right = right && same;
        if (same && time < least) {
            if (best)
                peer->close(best);
            best = state;
            least = time;
        } else {
            peer->close(state);
        }
    }
    if (!right)
        fprintf(stderr, "bench: %s, %s: %s gives another result: left out\n", own->kernel->name,
                task->name, peer->name);
    free(result);
    return best;
}

void enter_peers(struct field *field, struct subject *own, const struct task *task) {
    struct peer_case what;
    float *w;
    field->peer_w = NULL;
    if (!peer_case_of(own, task, &what, &w))
        return;
    field->peer_w = w;
    for (size_t i = 0; i < PEERS; i++) {
        void *state = peer_is_here[i] ? open_best(peers[i], own, task, &what) : NULL;
        if (!state)
            continue;
        struct contender *made = enter(field, contender(run_peer, own, task, NULL));
        made->peer = peers[i];
        made->state = state;
    }
}

/* Their rows, and how much faster the best of ours is: the rows from `first` on. */
void report_peers(struct field *field, size_t first) {
    const size_t end = row_count;
    size_t ours = first;
    for (size_t i = first; i < end; i++)
        if (rows[i].threads == 1 && !strchr(rows[i].name, ':') && rows[i].min < rows[ours].min)
            ours = i;
    for (size_t i = field->ours; i < field->count; i++) {
        struct contender *from = &field->all[i];
        if (from->run != run_peer)
            continue;
        struct row *row = add_row(from, NULL);
        row->peer = from->peer->name;
        row->scratch = 0;
        set_limits(row, field, rows[ours].isa);
        row->ratio = row->min / rows[ours].min;
        print_row(row, NAN);
        from->peer->close(from->state);
    }
    free(field->peer_w);
}

/* Ours against each peer, case by case, and against the best of them. */
void print_ratios(void) {
    printf("\nOurs, times as fast as the peers; the last column: as the fastest of them\n  %-46s",
           "case");
    for (size_t i = 0; i < PEERS; i++)
        if (peer_is_here[i])
            printf(" %8s", peers[i]->name);
    printf(" %8s\n", "best");
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        if (!row->peer || (i > 0 && rows[i - 1].peer))
            continue;
        char title[80];
        double least = NAN;
        snprintf(title, sizeof title, "%s, %s", row->spec, row->name);
        printf("  %-46s", title);
        for (size_t j = 0; j < PEERS; j++) {
            double ratio = NAN;
            for (size_t k = i; k < row_count && rows[k].peer; k++)
                if (strcmp(rows[k].peer, peers[j]->name) == 0)
                    ratio = rows[k].ratio;
            least = fmin(least, ratio);
            if (peer_is_here[j])
                print_cell(8, ratio, "%.2f");
        }
        print_cell(8, least, "%.2f");
        putchar('\n');
    }
}
