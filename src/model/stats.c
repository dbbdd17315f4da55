/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums by stack.  See stats.h. */
#include "model/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "wire/event.h"

/* Marks every stack of a column; bytes rather than bits, since this is the only pass over them. */
static void mark(uint8_t *used, const struct nodes *nodes, const uint32_t *column, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (column[i] < nodes->count)
			used[column[i]] = 1;
}

static uint32_t count_marks(const uint8_t *used, const struct nodes *nodes)
{
	uint32_t sum = 0;

	for (uint32_t i = 1; i < nodes->count; i++)
		sum += used[i] && nodes->frame[i];
	return sum;
}

/* parent < id, so one pass upwards knows every node's depth. */
static uint32_t deepest(const struct nodes *nodes, const uint8_t *used, const uint8_t *used_too)
{
	uint32_t *depth = xcalloc(nodes->count, sizeof(*depth)), most = 0;

	for (uint32_t i = 1; i < nodes->count; i++) {
		if (!nodes->frame[i])
			continue;
		depth[i] = depth[nodes->parent[i]] + 1;
		if ((used[i] || used_too[i]) && depth[i] > most)
			most = depth[i];
	}
	free(depth);
	return most;
}

void stats_count_stacks(const struct model *m, struct stack_counts *ret_counts)
{
	const struct nodes *nodes = &m->tables.nodes;
	const struct columns *c = &m->allocations;
	uint8_t *used = xcalloc(nodes->count + 1, 1), *used_too = xcalloc(nodes->count + 1, 1);
	uint64_t without = 0;

	mark(used, nodes, c->stack, c->count);
	mark(used_too, nodes, c->free_stack, c->count);
	for (uint32_t i = 0; i < c->count; i++)
		without += !node_is_known(nodes, c->stack[i]);
	*ret_counts = (struct stack_counts){
		.stacks = count_marks(used, nodes),
		.free_stacks = count_marks(used_too, nodes),
		.deepest = deepest(nodes, used, used_too),
		.without_stack = without,
	};
	free(used);
	free(used_too);
}

static void add_row(struct stack_sum *s, const struct columns *c, uint32_t row, uint64_t peak_at)
{
	uint64_t size = columns_size(c, row), freed_at = c->freed_at[row];

	s->count++;
	s->bytes += size;
	if (freed_at == NEVER) {
		s->leaked_count++;
		s->leaked_bytes += size;
	}
	if (c->allocated_at[row] <= peak_at && freed_at > peak_at) {
		s->peak_count++;
		s->peak_bytes += size;
	}
	if (tags_flags(c->tags[row]) & TAG_TEMPORARY) {
		s->temporary++;
		s->temporary_bytes += size;
	}
}

void stats_sum_stacks(const struct model *m, struct stack_sums *ret_sums)
{
	const struct nodes *nodes = &m->tables.nodes;
	const struct columns *c = &m->allocations;
	uint32_t *place = xcalloc(nodes->count + 1, sizeof(*place)); /* plus one */
	struct stack_sums sums = { 0 };
	size_t room = 64;

	sums.rows = xcalloc(room, sizeof(*sums.rows));
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t stack = node_is_known(nodes, c->stack[i]) ? c->stack[i] : STACK_NONE;

		if (!place[stack]) {
			sums.rows = xgrow(sums.rows, sums.count, &room, sizeof(*sums.rows));
			sums.rows[sums.count] =
				(struct stack_sum){ .stack = stack, .call = tags_call(c->tags[i]) };
			place[stack] = ++sums.count;
		}
		add_row(&sums.rows[place[stack] - 1], c, i, m->totals.peak_at);
	}
	free(place);
	*ret_sums = sums;
}

void stack_sums_release(struct stack_sums *s)
{
	free(s->rows);
	memset(s, 0, sizeof(*s));
}

uint64_t stack_sum_key(const struct stack_sum *s, enum stack_order order)
{
	switch (order) {
	case BY_COUNT:
		return s->count;
	case BY_LEAKED_BYTES:
		return s->leaked_bytes;
	case BY_PEAK_BYTES:
		return s->peak_bytes;
	case BY_TEMPORARY:
		return s->temporary;
	case STACK_ORDERS:
		break;
	}
	return 0;
}

/* Blocks of no bytes leak too, so the number of them breaks ties; then the stack, to be stable. */
static int compare(const void *a, const void *b, void *context)
{
	const struct stack_sum *x = a, *y = b;
	enum stack_order order = *(enum stack_order *)context;
	uint64_t kx = stack_sum_key(x, order), ky = stack_sum_key(y, order);

	if (kx == ky && order == BY_LEAKED_BYTES)
		kx = x->leaked_count, ky = y->leaked_count;
	if (kx == ky)
		kx = x->bytes, ky = y->bytes;
	if (kx != ky)
		return kx < ky ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

uint32_t stack_sums_top(struct stack_sums *s, enum stack_order order, uint32_t n)
{
	uint32_t found = 0;

	if (s->count)
		qsort_r(s->rows, s->count, sizeof(*s->rows), compare, &order);
	while (found < n && found < s->count &&
	       (stack_sum_key(&s->rows[found], order) ||
		(order == BY_LEAKED_BYTES && s->rows[found].leaked_count)))
		found++;
	return found;
}
