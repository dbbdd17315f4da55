/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The two notations, one document at a time; snapshots.c finds the documents. */
#include <stddef.h>

#include "base/err.h"
#include "jemalloc/stats.h"

/* Reads the document that `text` begins with.  Returns its length, 0 when it goes on behind `size`,
 * or -EBADMSG with err (its offset is within `text`). */
long stats_read_json(struct stats *s, const char *text, size_t size, struct err *err);
/* The lines between Begin and End.  Lines that mean nothing here are passed over: logs put their
 * own between them. */
void stats_read_text(struct stats *s, const char *text, size_t size);
