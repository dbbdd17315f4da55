/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is no longer in the events.  See removed.h. */
#include "model/removed.h"

#include <string.h>

#include "base/xalloc.h"
#include "model/tables.h"

bool removed_add(struct removed *r, const uint8_t **p, const uint8_t *end)
{
	struct statistics row;
	uint64_t at;

	if (!statistics_get(p, end, &row))
		return false;
	if (map_number(&r->by_stack, row.stack, &at))
		xpush(r->rows, r->count, r->room);
	r->rows[at] = row;
	return true;
}

const struct statistics *removed_find(const struct removed *r, uint32_t stack)
{
	uint64_t at;

	return map_get(&r->by_stack, stack, &at) ? &r->rows[at] : NULL;
}

void removed_release(struct removed *r)
{
	free(r->rows);
	map_release(&r->by_stack);
	memset(r, 0, sizeof(*r));
}

bool removed_add_totals(const struct tables *tables, struct totals *t)
{
	uint64_t whole_bytes = 0, whole_count = 0, whole_at = 0, first_at = 0, last_at = 0;
	uint64_t heaptrack_temporary = 0, before = t->allocations;
	const struct {
		const char *name;
		uint64_t *sum;
	} rows[] = {
		{ COUNTER_REMOVED_EVENTS, &t->events },
		{ COUNTER_REMOVED_ALLOCATIONS, &t->allocations },
		{ COUNTER_REMOVED_FREES, &t->deallocations },
		{ COUNTER_REMOVED_REALLOCS, &t->reallocations },
		{ COUNTER_REMOVED_BYTES, &t->allocated_bytes },
		{ COUNTER_REMOVED_TEMPORARY, &t->temporary },
		{ COUNTER_REMOVED_REALLOC_FAILURES, &t->realloc_failures },
		{ COUNTER_REMOVED_UNKNOWN_FREES, &t->unknown_frees },
		{ COUNTER_REMOVED_IMPLICIT_FREES, &t->implicit_frees },
		{ COUNTER_WHOLE_PEAK_BYTES, &whole_bytes },
		{ COUNTER_WHOLE_PEAK_COUNT, &whole_count },
		{ COUNTER_WHOLE_PEAK_STAMP, &whole_at },
		{ COUNTER_WHOLE_FIRST_STAMP, &first_at },
		{ COUNTER_WHOLE_LAST_STAMP, &last_at },
		{ COUNTER_WHOLE_HEAPTRACK_TEMPORARY, &heaptrack_temporary },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		*rows[i].sum += tables_counter(tables, rows[i].name);
	/* What is left follows other events than it did: only who saw all could count them. */
	if (t->allocations != before)
		t->heaptrack_temporary = heaptrack_temporary;
	if (first_at && (!t->first_at || first_at < t->first_at))
		t->first_at = first_at;
	if (last_at > t->last_at)
		t->last_at = last_at;
	if (!whole_bytes || whole_bytes < t->peak_bytes)
		return false;
	t->peak_bytes = whole_bytes;
	t->peak_count = whole_count;
	t->peak_at = whole_at;
	return true;
}
