/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What columns.c asks of columns_file.c; the rest is in columns.h. */
#include "pairing/columns.h"

/* One more group: 0, or -errno and nothing has changed. */
int columns_grow_file(struct columns *c);
/* Unmaps columns that are in a file, and closes it. */
void columns_unmap(struct columns *c);
