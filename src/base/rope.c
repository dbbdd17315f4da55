/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ropes.  See rope.h. */
#include "base/rope.h"

#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"

static void rope_add_piece(struct rope *r, const char *bytes, size_t size)
{
	*xpush(r->pieces, r->count, r->room) = (struct rope_piece){ .bytes = bytes, .size = size };
}

void rope_end(struct rope *r)
{
	if (r->text.size > r->cut)
		rope_add_piece(r, NULL, r->text.size - r->cut);
	r->cut = r->text.size;
}

void rope_keep(struct rope *r, const char *bytes, size_t size)
{
	if (size < ROPE_SMALL) {
		buf_add(&r->text, bytes, size);
		return;
	}
	rope_end(r);
	rope_add_piece(r, bytes, size);
	r->borrowed += size;
}

void rope_clear(struct rope *r)
{
	buf_clear(&r->text);
	r->count = r->cut = 0;
	r->borrowed = 0;
}

void rope_release(struct rope *r)
{
	buf_release(&r->text);
	free(r->pieces);
	memset(r, 0, sizeof(*r));
}
