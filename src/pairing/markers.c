/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of markers.  See markers.h. */
#include "pairing/markers.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

size_t markers_add(struct markers *m, uint64_t stamp, uint32_t value, const char *name, size_t size)
{
	*xpush(m->rows, m->count, m->room) =
		(struct marker){ stamp, value, xmemdup0(name, strnlen(name, size)) };
	return m->count - 1;
}

void markers_extend(struct markers *m, size_t position, const char *name, size_t size)
{
	struct marker *row = &m->rows[position];
	size_t before = strlen(row->name), more = strnlen(name, size);

	row->name = xreallocarray(row->name, before + more + 1, 1);
	memcpy(row->name + before, name, more);
	row->name[before + more] = 0;
}

uint32_t markers_at(const struct markers *m, uint64_t stamp)
{
	size_t low = FIRST_WHERE(i, m->count, m->rows[i].stamp > stamp);

	return low ? m->rows[low - 1].value : 0;
}

void markers_release(struct markers *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->rows[i].name);
	free(m->rows);
	memset(m, 0, sizeof(*m));
}
