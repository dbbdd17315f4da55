/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who holds blocks at a moment.  See holders.h. */
#include "query/holders.h"

#include "base/order.h"
#include "base/xalloc.h"
#include "query/answer.h"

/* `row_of`, by stack: the position of its row, plus one. */
static void add_holder_row(struct range_holders *all, uint32_t *row_of, const struct model *m,
			   uint32_t row)
{
	const struct columns *c = &m->allocations;
	uint32_t stack = answer_stack(m, columns_stack(c, row));
	uint64_t size = columns_size(c, row), slack = columns_slack_of(c, row);
	uint64_t low = columns_address(c, row), high = low + size + slack;
	struct range_holder *h;

	if (!row_of[stack]) {
		all->rows = xgrow(all->rows, all->count, &all->room, sizeof(*all->rows));
		all->rows[all->count] = (struct range_holder){
			.stack = stack, .low = low, .oldest = columns_allocated_at(c, row)
		};
		row_of[stack] = (uint32_t)++all->count;
	}
	h = &all->rows[row_of[stack] - 1];
	h->weight.bytes += size;
	h->weight.count++;
	h->slack += slack;
	h->low = low < h->low ? low : h->low;
	h->high = high > h->high ? high : h->high;
	h->newest = columns_allocated_at(c, row);
	all->total.bytes += size;
	all->total.count++;
}

ORDER(by_bytes, struct range_holder, FALLING(weight.bytes) ?: RISING(stack))

void range_holders_init(struct range_holders *all, const struct view *v, uint64_t at)
{
	const struct model *m = v->model;
	struct measuring how = { .measure = MEASURE_ALIVE_AT, .at = at };
	auto_free uint32_t *row_of = xcalloc((size_t)m->tables.nodes.count + 1, sizeof(*row_of));

	*all = (struct range_holders){ 0 };
	VIEW_EACH(v, 0, m->allocations.count, row)
	if (measuring_takes(&how, &m->allocations, row))
		add_holder_row(all, row_of, m, row);
	SORT(all->rows, all->count, by_bytes);
}

void range_holders_release(struct range_holders *all)
{
	free(all->rows);
	*all = (struct range_holders){ 0 };
}
