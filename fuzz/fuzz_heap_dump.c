/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profile dumps of any bytes: indices lead inside, and estimates are numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "heap/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct err err;
	struct dump d;

	if (size)
		memcpy(exact, data, size);
	dump_read(&d, exact, size, &err);
	for (size_t i = 0; i < d.stack_count; i++) {
		const struct dump_stack *s = &d.stacks[i];

		if (s->pc + s->pc_count > d.pc_count || s->share + s->share_count > d.share_count ||
		    isnan(dump_scale(&s->counts, d.rate).bytes))
			abort();
		for (size_t k = 0; k < s->pc_count; k++) {
			const struct dump_map *m = dump_map_of(&d, d.pcs[s->pc + k]);

			if (m && (m->start > d.pcs[s->pc + k] || m->end <= d.pcs[s->pc + k] ||
				  strlen(m->build_id) > 2 * DUMP_BUILD_ID_MAX))
				abort();
		}
	}
	dump_release(&d);
	free(exact);
	return 0;
}
