/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What Memoir itself cost the program, for readers.  The figures are model/cost.h's. */
#include "base/term.h"
#include "model/cost.h"

struct buf;

void cost_text(struct buf *out, const struct term *t, const struct model *m);
