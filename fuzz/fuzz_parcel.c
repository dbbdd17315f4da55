/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parcels of a spool on any bytes, whose sum is made right.  What is read is written again as it
 * was, and no batch is larger than what came in. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "fleet/parcel.h"
#include "fuzz.h"

#define SUM 8

static void check_batches(const struct parcel *p, size_t size)
{
	size_t all = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct parcel_batch *b = &p->batches[i];

		if (!*b->table || strlen(b->table) >= sizeof(b->table))
			abort();
		all += b->content.size;
	}
	if (all > size)
		abort();
}

FUZZ(parcel, data, size)
{
	uint8_t *exact = xmalloc(size + 1);
	struct buf written = { 0 };
	struct err err = { .text = "" };
	struct parcel p;

	memcpy(exact, data, size);
	if (size >= SUM) {
		XXH64_hash_t sum = XXH3_64bits(exact, size - SUM);

		memcpy(exact + size - SUM, &sum, SUM);
	}
	if (parcel_read(&p, exact, size, &err)) {
		if (!*err.text || p.batches)
			abort();
	} else {
		check_batches(&p, size);
		parcel_write(&p, &written);
		if (written.size != size || memcmp(written.data, exact, size) != 0)
			abort();
	}
	parcel_release(&p);
	buf_release(&written);
	free(exact);
	return 0;
}
