/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of /proc/PID/smaps on hostile bytes: it stays inside them, comes to an end, and what
 * it finds is in order. */
#include <stdlib.h>
#include <string.h>

#include "collector/smaps.h"
#include "fuzz.h"

FUZZ(smaps, data, size)
{
	/* An exact copy, so that the sanitizer sees one byte too many. */
	char *copy = malloc(size ? size : 1);
	const char *at = copy, *before = NULL;
	struct smaps_entry e;

	if (size)
		memcpy(copy, data, size);
	while (smaps_next(&at, copy + size, &e)) {
		if (at <= before || at > copy + size || e.start >= e.end ||
		    e.end > REGION_ADDRESS_MAX || e.name_size > SMAPS_NAME_MAX || e.name < copy ||
		    e.name + e.name_size > copy + size || e.usage.rss > REGION_USAGE_MAX ||
		    e.usage.swap > REGION_USAGE_MAX)
			abort();
		before = at;
	}
	free(copy);
	return 0;
}
