/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of threads.  See threads.h. */
#include "pairing/threads.h"

#include <string.h>

#include "base/xalloc.h"
#include "pairing/columns.h"

void threads_release(struct threads *t)
{
	free(t->rows);
	map_release(&t->by_tid);
	memset(t, 0, sizeof(*t));
}

uint32_t threads_row(struct threads *t, uint64_t tid)
{
	uint64_t row;

	if (map_get(&t->by_tid, tid, &row))
		return (uint32_t)row;
	if (t->count > TAG_THREAD_MAX)
		return TAG_THREAD_MAX;
	t->rows = xgrow(t->rows, t->count, &t->room, sizeof(*t->rows));
	t->rows[t->count] = (struct thread){ .tid = tid };
	map_set(&t->by_tid, tid, t->count);
	return (uint32_t)t->count++;
}

void threads_name(struct threads *t, uint32_t row, const char *name, size_t size)
{
	struct thread *thread = &t->rows[row];
	size_t n = strnlen(name, size);

	if (n >= sizeof(thread->name))
		n = sizeof(thread->name) - 1;
	memcpy(thread->name, name, n);
	thread->name[n] = 0;
}
