/* Every kernel on every instruction set against the reference, within its bound. */
#include "problem.h"
#include "suite.h"

/* The plainest way that can compute the problem. */
static const struct way *plain(bool direct) { return direct ? &DIRECT : &CACHED; }

EACH(target, reference, attention, NULL) {
    const struct kernel *kernel = selected(target);
    struct budget budget = FULL;
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i];
        const size_t rows = some_rows(kernel, n, attention_work(kernel, n, 1), 1);
        for (enum kind kind = 0; kind < KINDS; kind++) {
            if (n > 65 && kind != i % KINDS)
                continue;
            /* the first problem whatever it takes */
            if (!spend(&budget, attention_work(kernel, n, rows)) && i + kind)
                continue;
            const struct problem problem = attention_problem(kernel, n, rows, kind);
            const size_t size = attention_size(&problem, rows);
            const size_t checked = attention_size(&problem, problem.checked);
            float *out = make(size, sizeof *out);
            struct bounded *want = make(checked, sizeof *want);
            attend(&problem, plain(attention_fits(&problem, &DIRECT)), out);
            attention_reference(&problem, NULL, want);
            expect_bounded(kernel, "attention", n, out + size - checked, want, checked);
        }
    }
}

EACH(target, reference, layer, has_layer) {
    const struct kernel *kernel = selected(target);
    struct budget budget = FULL;
    const struct weights weights = random_weights(kernel, 1);
    const void *packed = pack(kernel, &weights);
    size_t list[EDGES];
    const size_t count = edges(kernel, list);
    for (size_t i = 0; i < count; i++) {
        const size_t n = list[i], rows = some_rows(kernel, n, layer_work(kernel, n, 1), 1);
        if (!spend(&budget, layer_work(kernel, n, rows)) && i)
            continue;
        const struct problem problem = layer_problem(kernel, n, rows, &weights, packed);
        const size_t size = layer_size(&problem, rows);
        const size_t checked = layer_size(&problem, problem.checked);
        float *y = make(size, sizeof *y);
        struct bounded *want = make(checked, sizeof *want);
        run_layer(&problem, plain(layer_fits(&problem, &DIRECT)), y);
        layer_reference(&problem, 0, want);
        expect_bounded(kernel, "layer", n, y + size - checked, want, checked);
    }
}
