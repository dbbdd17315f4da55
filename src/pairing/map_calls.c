/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of map calls.  See map_calls.h. */
#include "pairing/map_calls.h"

#include <string.h>
#include <sys/mman.h>

#include "base/xalloc.h"
#include "wire/event.h"

void map_calls_add(struct map_calls *c, const struct map_call *call)
{
	*xpush(c->rows, c->count, c->room) = *call;
}

/* MADV_FREE does when the kernel likes. */
bool map_call_gives_back(const struct map_call *c)
{
	if (c->kind != MAP_CALL_CHANGES)
		return true; /* what was mapped there is gone, whatever comes */
	if (c->call == CALL_brk)
		return c->flags & CHANGE_SHRINKS;
	return c->call == CALL_madvise && (c->given == MADV_DONTNEED || c->given == MADV_REMOVE);
}

/* They come nearly sorted; a merge sort keeps what is equal in order. */
static void merge_halves(struct map_call *rows, size_t n, struct map_call *spare)
{
	size_t half = n / 2, a = 0, b = half, to = 0;

	if (n < 2)
		return;
	merge_halves(rows, half, spare);
	merge_halves(rows + half, n - half, spare);
	if (rows[half - 1].at <= rows[half].at)
		return;
	memcpy(spare, rows, half * sizeof(*rows));
	while (a < half && b < n)
		rows[to++] = rows[b].at < spare[a].at ? rows[b++] : spare[a++];
	while (a < half)
		rows[to++] = spare[a++];
}

void map_calls_sort(struct map_calls *c)
{
	struct map_call *spare;

	if (c->count < 2)
		return;
	spare = xreallocarray(NULL, c->count / 2, sizeof(*spare));
	merge_halves(c->rows, c->count, spare);
	free(spare);
}

void map_calls_release(struct map_calls *c)
{
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
