/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A long text of which much was written before: what is new is in `text`, and what is kept
 * elsewhere is only pointed to, so that it goes from there to the file.  A zeroed one is empty.
 *
 *	buf_text(&r.text, "{\"stack\":");
 *	rope_keep(&r, stack, stack_size);
 *	buf_char(&r.text, '}');
 *	sink_rope(out, &r); */
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"

struct rope_piece {
	const char *bytes; /* NULL: the next ones of `text` */
	size_t size;
};

struct rope {
	struct buf text;
	struct rope_piece *pieces;
	size_t count, room;
	size_t cut;	   /* how much of `text` is in pieces */
	uint64_t borrowed; /* bytes that are not in `text` */
};

#define ROPE_SMALL 192u /* is copied: a piece would cost more */

/* Adds bytes that stay where they are until the rope was cleared. */
void rope_keep(struct rope *r, const char *bytes, size_t size);
/* The rest of the text becomes a piece too: all of it is in pieces then. */
void rope_end(struct rope *r);
void rope_clear(struct rope *r);
void rope_release(struct rope *r);

static inline uint64_t rope_size(const struct rope *r)
{
	return r->text.size + r->borrowed;
}
