/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a recording is of, as it says itself: the texts of enum origin (filter.h).  Any thread. */
#include "model/model.h"
#include "query/filter.h"

struct buf;

/* Adds it; nothing where it is not known, and of what only a fleet knows. */
void origin_text(const struct model *m, enum origin which, struct buf *out);
