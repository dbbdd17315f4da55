/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resident bytes of live blocks, by stack.  See resident_blocks.h. */
#include "query/resident_blocks.h"

#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"

void resident_runs_add(struct resident_runs *r, uint64_t start, uint64_t end)
{
	struct resident_run *last = r->count ? &r->list[r->count - 1] : NULL;

	if (last && last->end == start)
		last->end = end;
	else
		*xpush(r->list, r->count, r->room) = (struct resident_run){ start, end };
}

void resident_runs_release(struct resident_runs *r)
{
	free(r->list);
	*r = (struct resident_runs){ 0 };
}

static uint64_t resident_bytes(const struct resident_runs *r, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = FIRST_WHERE(k, r->count, r->list[k].end > start);
	     i < r->count && r->list[i].start < end; i++)
		bytes += MIN(end, r->list[i].end) - MAX(start, r->list[i].start);
	return bytes;
}

size_t resident_blocks(const struct view *v, uint64_t at, const struct resident_runs *runs,
		       struct resident_stack **ret_stacks)
{
	const struct columns *c = &v->model->allocations;
	uint32_t until = at < NEVER ? columns_from(c, at + 1) : c->count;
	struct resident_stack *stacks = NULL;
	struct map by_stack = { 0 };
	size_t count = 0, room = 0;

	VIEW_EACH(v, 0, until, row)
	{
		uint64_t address = columns_address(c, row), size, slack, number, requested;
		struct resident_stack *s;

		if (columns_freed_at(c, row) <= at)
			continue;
		size = columns_size(c, row);
		slack = columns_slack_of(c, row);
		if (map_number(&by_stack, columns_stack(c, row), &number))
			*xpush(stacks, count, room) =
				(struct resident_stack){ .stack = columns_stack(c, row),
							 .call = tags_call(columns_tags(c, row)) };
		s = &stacks[number];
		requested = resident_bytes(runs, address, address + size);
		s->blocks++;
		s->size += size;
		s->requested += requested;
		s->rounding += resident_bytes(runs, address + size, address + size + slack);
	}
	map_release(&by_stack);
	*ret_stacks = stacks;
	return count;
}
