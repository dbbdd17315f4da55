/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The agent's own reader of dumps, and the difference of two: indices lead inside, amounts are
 * numbers, and a dump without itself is nothing. */
#include <stdlib.h>
#include <string.h>

#include "agent/jemalloc.h"
#include "agent/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct jemalloc jemalloc = { .start = 0x7f0000000000, .end = 0x7f0000100000 };

static void look_at(const struct profile *p)
{
	const struct profile_sample *s = (const struct profile_sample *)p->samples.data;

	for (size_t i = 0; i < p->sample_count; i++) {
		if (!s[i].pc_count || s[i].pc + s[i].pc_count > p->pcs.size / sizeof(uint64_t))
			abort();
		for (unsigned k = 0; k < 4; k++)
			if (s[i].value[k] != s[i].value[k])
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact = malloc(size + !size); /* so that a read beyond the end is seen */
	size_t middle = size ? data[0] * size / 256 : 0;
	struct profile one = { 0 }, two = { 0 };

	if (!exact)
		return 0;
	if (size)
		memcpy(exact, data, size);
	profile_read(&one, exact, size, size & 1);
	profile_read(&two, exact + middle, size - middle, false);
	look_at(&one);
	look_at(&two);
	if (one.maps && (one.maps < exact || one.maps + one.maps_size > exact + size))
		abort();
	profile_subtract(&one, &two);
	look_at(&one);
	profile_release(&one);
	profile_release(&two);
	free(exact);
	return 0;
}
