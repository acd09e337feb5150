/* A layer with keys and values from a latent, as its definition says: with keys and values of each
 * head. */
#ifndef MLA_H
#define MLA_H

#include "problem.h"

/* Floats of each array of the weights. */
void mla_weight_sizes(const struct kernel *kernel, struct array_size sizes[ARRAYS]);

/* Multiply-adds that make the keys and values of one position. */
size_t mla_expansion(const struct kernel *kernel);

/* What must come out for the checked rows of the layer, of x [rows][d_model]: the value is that of
 * the definition, the bound that of the form which computes the row, in calls of `chunk` rows (0:
 * one call). views: what each row sees. Ends the test unless both forms have the same value. */
void mla_reference(const struct problem *problem, size_t chunk, const struct bounded *x,
                   const struct view *views, struct bounded *y);

#endif
