/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of an ELF file (collector/reduce.h) that may hold anything: the image that is planned of
 * it can be read whole, in odd steps, and has the size that was said. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "collector/reduce.h"
#include "fuzz.h"

#define STEP 9973

static void read_whole(const struct reduced *r, const struct reduce_source *s)
{
	uint8_t *piece = xmalloc(STEP);

	/* Headers are made anew, with a section more than there was at most. */
	if (r->size > 2 * s->size + 4096)
		abort();
	for (uint64_t at = 0; at < r->size; at += STEP)
		reduce_read(r, s, piece, r->size - at < STEP ? (size_t)(r->size - at) : STEP, at);
	free(piece);
}

FUZZ(reduce, data, size)
{
	static const enum reduce_extent extents[] = { REDUCE_TABLES, REDUCE_EXPORTED,
						      REDUCE_NOTHING };
	struct reduce_source s = { .fd = -1, .memory = data, .size = size };

	for (size_t i = 0; i < sizeof(extents) / sizeof(*extents); i++) {
		struct reduced r;

		if (reduce_plan(&r, &s, extents[i]))
			read_whole(&r, &s);
		reduce_release(&r);
	}
	return 0;
}
