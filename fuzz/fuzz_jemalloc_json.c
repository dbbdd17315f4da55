/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* JSON of malloc_stats_print on any bytes: one document, which is cut at every place that the
 * length of the input picks, and the file reader around it. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "jemalloc/notations.h"
#include "jemalloc/snapshots.h"

static void one(struct stats *s, const uint8_t *data, size_t size)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct err err = { .text = "" };
	long n;

	for (size_t i = 0; i < size; i++)
		exact[i] = (char)data[i];
	n = stats_read_json(s, exact, size, &err);
	if (n > (long)size || (n < 0 && (!*err.text || err.offset > size)))
		abort();
	free(exact);
}

FUZZ(jemalloc_json, data, size)
{
	struct err err = { .text = "" };
	struct snapshots r;
	struct stats s;
	int n;

	stats_init(&s);
	one(&s, data, size);
	one(&s, data, size / 2);
	stats_release(&s);
	snapshots_memory(&r, data, size);
	while ((n = snapshots_next(&r, &err)))
		if (n < 0 && (!*err.text || err.offset > size))
			abort();
	snapshots_close(&r);
	return 0;
}
