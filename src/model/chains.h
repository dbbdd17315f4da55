/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Realloc chains: a block and what each realloc made of it, as one thing with one lifetime.
 *
 * A chain has at least two rows.  It lives from allocated_at of its first row to freed_at of its
 * last; the rows between were ended by realloc and say so (TAG_REALLOCATED).  What realloc made of
 * a block that the recording does not know is in no chain until it is reallocated itself. */
#include "pairing/columns.h"

struct model;

/* Fills the columns `chain` and `position` and the model's chains. */
void chains_build(struct model *m);
void chains_release(struct model *m);
