/* What the bench found, as a table and as files. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct contender *self) {
    if (!self->count)
        return NAN;
    qsort(self->times, self->count, sizeof *self->times, compare);
    return self->times[self->count / 2];
}

struct row *rows;
size_t row_count;

struct row *add_row(struct contender *from, const char *piece) {
    static size_t space;
    if (row_count == space) {
        space = space ? 2 * space : 64;
        rows = realloc(rows, space * sizeof *rows);
        if (!rows)
            fail("out of memory", "rows");
    }
    const struct subject *own = from->subject;
    const struct task *task = from->task;
    struct row *row = &rows[row_count++];
    *row = (struct row){.spec = own->kernel->name, .threads = from->threads};
    snprintf(row->isa, sizeof row->isa, "%s", from->isa ? from->isa : "");
    snprintf(row->name, sizeof row->name, piece ? "%s: %s" : "%s", task->name, piece);
    row->code = from->isa ? code_bytes(row->spec, row->isa) : 0;
    const size_t threads = from->threads > 1 ? from->threads : 0;
    row->scratch = task->kind == PROJECTION ? 0
                   : task->cached           ? own->kernel->cache_scratch_bytes(threads)
                                            : own->kernel->scratch_bytes(threads);
    row->min = from->best;
    row->median = median(from);
    row->flops = task->flops;
    row->bytes = task->bytes;
    row->rate = task->n == 1 ? row->bytes / row->min : NAN;
    row->peak = row->usual_peak = row->read = row->bound = row->pieces = row->plain = row->ratio =
        NAN;
    return row;
}

static double gflops(const struct row *row) { return row->flops / row->min * 1e-9; }
static double share_of_peak(const struct row *row) { return row->flops / row->min / row->peak; }
static double usual_share(const struct row *row) {
    return row->flops / row->median / row->usual_peak;
}
static double share_of_read(const struct row *row) { return row->rate / row->read; }
static double share_of_bound(const struct row *row) { return row->bound / row->min; }

void print_head(void) {
#if defined(__clang__)
    const char *compiler = "";
#else
    const char *compiler = "gcc ";
#endif
    printf("%s, CPU %zu%s; compiled by %s%s\n", machine.name, machine.cpus[0],
           machine.first_in_line ? ", ahead of other processes" : "", compiler, __VERSION__);
    puts(
        "peak     of the fused multiply-adds that a loop of nothing else reaches in the same "
        "minute,\n         best call by best call; median: median by median\n"
        "read     of the bytes a second that a loop of nothing but loads gets from the same bytes\n"
        "bound    of the speed at which the slower of these two loops would do the work\n"
        "pieces   the layer's pieces, timed one by one, as a share of the layer\n"
        "plain    of the time that the same attention without features takes, in turns with it\n"
        "x 2      two threads, times as fast as one");
}

void print_subject(const struct subject *own) {
    const struct kernel *kernel = own->kernel;
    printf("\n%s: code", kernel->name);
    for (size_t i = 0; i < own->isa_count; i++)
        printf("%s %s %zu", i ? "," : "", own->isas[i], code_bytes(kernel->name, own->isas[i]));
    printf(" bytes; scratch %zu, with a cache %zu; cache %zu", kernel->scratch_bytes(0),
           kernel->cache_scratch_bytes(0), kernel->cache_bytes);
    if (kernel->has_layer)
        printf("; weights %zu", kernel->weights_bytes);
    printf("\n  %-30s %-8s %9s %9s %8s %6s %6s %7s %6s %6s %6s %6s %5s\n", "case", "isa", "ms min",
           "median", "GFLOP/s", "peak", "median", "GB/s", "read", "bound", "pieces", "plain",
           "x 2");
}

/* Nothing where the value does not apply. */
void print_cell(int width, double value, const char *format) {
    char text[32] = "";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    printf(" %*s", width, text);
}

void print_row(const struct row *row, double with_two) {
    if (options.json)
        return;
    printf("  %-30s %-8s", row->name, row->peer ? row->peer : row->isa);
    print_cell(9, row->min * 1e3, "%.4f");
    print_cell(9, row->median * 1e3, "%.4f");
    print_cell(8, gflops(row), "%.1f");
    print_cell(6, share_of_peak(row) * 100, "%.1f%%");
    print_cell(6, usual_share(row) * 100, "%.1f%%");
    print_cell(7, row->rate * 1e-9, "%.2f");
    print_cell(6, share_of_read(row) * 100, "%.1f%%");
    print_cell(6, share_of_bound(row) * 100, "%.1f%%");
    print_cell(6, row->pieces * 100, "%.1f%%");
    print_cell(6, row->plain * 100, "%.1f%%");
    print_cell(5, with_two, "%.2f");
    if (row->peer)
        printf("  ours: %.2f times as fast", row->ratio);
    putchar('\n');
    fflush(stdout);
}

static void print_number(FILE *to, const char *name, double value) {
    if (isfinite(value))
        fprintf(to, ", \"%s\": %.12g", name, value);
    else
        fprintf(to, ", \"%s\": null", name);
}

static void print_text(FILE *to, const char *name, const char *value) {
    fprintf(to, value && *value ? ", \"%s\": \"%s\"" : ", \"%s\": null", name, value);
}

/* Names are C identifiers, ids and our own words: nothing to escape. */
void print_json(FILE *to) {
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        fprintf(to, "%s\n  {\"spec\": \"%s\"", i ? "," : "[", row->spec);
        print_text(to, "isa", row->isa);
        print_text(to, "case", row->name);
        fprintf(to, ", \"threads\": %zu", row->threads);
        print_number(to, "ms_min", row->min * 1e3);
        print_number(to, "ms_median", row->median * 1e3);
        print_number(to, "gflops", gflops(row));
        print_number(to, "share_of_peak", share_of_peak(row));
        print_number(to, "share_of_peak_by_medians", usual_share(row));
        print_number(to, "gb_per_s", row->rate * 1e-9);
        print_number(to, "share_of_bandwidth", share_of_read(row));
        print_number(to, "share_of_bound", share_of_bound(row));
        print_number(to, "share_of_pieces", row->pieces);
        print_number(to, "share_of_plain", row->plain);
        print_text(to, "peer", row->peer);
        print_number(to, "ratio", row->ratio);
        print_number(to, "flops", row->flops);
        print_number(to, "bytes", row->bytes);
        print_number(to, "peak_gflops", row->peak * 1e-9);
        print_number(to, "read_gb_per_s", row->read * 1e-9);
        fprintf(to, ", \"code_bytes\": %zu, \"scratch_bytes\": %zu}", row->code, row->scratch);
    }
    fprintf(to, "%s\n]\n", row_count ? "" : "[");
}

/* For plots: what they need, one row a line, "-" for what does not apply. */
static void print_tsv(FILE *to) {
    fputs("spec\tisa\tcase\tthreads\tpeer\tms_min\tgflops\tshare_of_peak\tgb_per_s\t"
          "share_of_bound\tpeak_gflops\tread_gb_per_s\tintensity\n",
          to);
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        const double numbers[] = {
            row->min * 1e3,      gflops(row),      share_of_peak(row), row->rate * 1e-9,
            share_of_bound(row), row->peak * 1e-9, row->read * 1e-9,   row->flops / row->bytes};
        fprintf(to, "%s\t%s\t%s\t%zu\t%s", row->spec, *row->isa ? row->isa : "-", row->name,
                row->threads, row->peer ? row->peer : "-");
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            fprintf(to, isfinite(numbers[j]) ? "\t%.6g" : "\t-", numbers[j]);
        fputc('\n', to);
    }
}

/* Writes DIR/name whole, or fails. */
static void write_file(const char *name, void (*print)(FILE *)) {
    char path[4096], part[4096 + 8];
    snprintf(path, sizeof path, "%s/%s", options.out, name);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    if (!file)
        fail(part, "cannot be written");
    print(file);
    const bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad || rename(part, path) != 0) {
        remove(part);
        fail(path, "cannot be written");
    }
}

/* Fills in the limits of instruction set `isa`, where there are any. */
void set_limits(struct row *row, struct field *field, const char *isa) {
    for (size_t i = field->ours; i < field->count; i++) {
        struct contender *limit = &field->all[i];
        if (!limit->isa || strcmp(limit->isa, isa) != 0)
            continue;
        if (limit->run == run_fma) {
            const double flops = (double)(limit->vectors->flops * row->threads);
            row->peak = flops / limit->best;
            row->usual_peak = flops / median(limit);
        }
        if (limit->run == run_read)
            row->read = fmax(row->read, (double)read_bytes(limit) / limit->best);
    }
    row->bound = isnan(row->rate) ? NAN : fmax(row->bytes / row->read, row->flops / row->peak);
}

void write_results(void) {
    write_file("bench.json", print_json);
    write_file("bench.tsv", print_tsv);
}
