/* The libraries that `make bench-peers` compares with. */
#include "peer.h"

extern const struct peer openblas, onednn, libxsmm, ort_mha, ort_attention, ort_gqa, ort_matmul;

const struct peer *const peers[] = {&openblas,      &onednn,  &libxsmm,   &ort_mha,
                                    &ort_attention, &ort_gqa, &ort_matmul};
const size_t peers_count = sizeof peers / sizeof *peers;
