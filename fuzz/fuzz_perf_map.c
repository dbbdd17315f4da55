/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of /tmp/perf-PID.map on hostile bytes that come in two pieces: every name it finds is
 * inside them. */
#include <stdlib.h>
#include <string.h>

#include "collector/perf_map.h"
#include "fuzz.h"

FUZZ(perf_map, data, size)
{
	struct perf_map_wanted wanted[] = { { .address = 0x1000 }, { .address = 0x1fff } };
	struct perf_map_name name;
	struct perf_map m;

	perf_map_init(&m);
	if (size)
		buf_add(&m.text, data, size / 2);
	perf_map_parse(&m);
	if (size)
		buf_add(&m.text, data + size / 2, size - size / 2);
	perf_map_parse(&m);
	for (size_t i = 0; i < m.count; i++) {
		const struct perf_map_entry *e = &m.entries[i];

		if (e->start >= e->end || (size_t)e->name + e->name_size > size)
			abort();
		perf_map_name(m.text.data + e->name, e->name_size, &name);
	}
	perf_map_find(&m, wanted, 2);
	perf_map_release(&m);
	return 0;
}
