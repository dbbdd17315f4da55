/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums by stack.  See stats.h. */
#include "model/stats.h"

#include <stdatomic.h>
#include <string.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "pairing/columns_window.h"
#include "wire/event.h"

#define SCAN_BLOCK (1u << 16)

/* Which stacks allocate and which free, and how many rows have none. */
struct marking {
	const struct model *m;
	_Atomic uint8_t *used, *used_too;
	_Atomic uint64_t without;
};

/* Most are marked already, and are only looked at. */
static void mark(_Atomic uint8_t *marks, uint32_t stack)
{
	if (!atomic_load_explicit(&marks[stack], memory_order_relaxed))
		atomic_store_explicit(&marks[stack], 1, memory_order_relaxed);
}

static void mark_stacks(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct marking *k = context;
	const struct nodes *nodes = &k->m->tables.nodes;
	struct columns_window w;
	uint64_t without = 0;

	EACH_WINDOW(at, n, first, count)
	{
		const struct columns *c =
			columns_window(&w, &k->m->allocations, at, n, WANT_stack | WANT_free_stack);

		for (uint32_t i = at; i < at + n; i++) {
			uint32_t stack = columns_stack(c, i), free_stack = columns_free_stack(c, i);

			if (stack < nodes->count)
				mark(k->used, stack);
			if (free_stack < nodes->count)
				mark(k->used_too, free_stack);
			without += !node_is_known(nodes, stack);
		}
	}
	k->without += without;
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
	auto_free uint32_t *depth = xcalloc(nodes->count, sizeof(*depth));
	uint32_t most = 0;

	for (uint32_t i = 1; i < nodes->count; i++) {
		if (!nodes->frame[i])
			continue;
		depth[i] = depth[nodes->parent[i]] + 1;
		if ((used[i] || used_too[i]) && depth[i] > most)
			most = depth[i];
	}
	return most;
}

/* Returns how many removed allocations have no stack. */
static uint64_t mark_removed(uint8_t *used, const struct model *m)
{
	const struct removed *r = &m->tables.removed;
	uint64_t without = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (!r->rows[i].count)
			continue;
		if (node_is_known(&m->tables.nodes, r->rows[i].stack))
			used[r->rows[i].stack] = 1;
		else
			without += r->rows[i].count;
	}
	return without;
}

static void at_least(uint32_t *count, const struct model *m, const char *counter)
{
	uint64_t value = tables_counter(&m->tables, counter);

	if (value > *count)
		*count = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

void stats_count_stacks(const struct model *m, struct stack_counts *ret_counts)
{
	const struct nodes *nodes = &m->tables.nodes;
	uint8_t *used = xcalloc(nodes->count + 1, 1), *used_too = xcalloc(nodes->count + 1, 1);
	struct marking k = { m, (_Atomic uint8_t *)used, (_Atomic uint8_t *)used_too, 0 };
	uint64_t without;

	if (m->derived) {
		*ret_counts = m->derived->counts;
		free(used);
		free(used_too);
		return;
	}
	parallel_for(m->allocations.count, SCAN_BLOCK, mark_stacks, &k);
	without = k.without + mark_removed(used, m);
	*ret_counts = (struct stack_counts){
		.stacks = count_marks(used, nodes),
		.free_stacks = count_marks(used_too, nodes),
		.deepest = deepest(nodes, used, used_too),
		.without_stack = without,
	};
	free(used);
	free(used_too);
	/* Frees that were removed left no stack behind; who removed them counted those. */
	at_least(&ret_counts->free_stacks, m, COUNTER_WHOLE_FREE_STACKS);
	at_least(&ret_counts->deepest, m, COUNTER_WHOLE_DEEPEST);
}

static void add_row(struct stack_sum *s, const struct columns *c, uint32_t row, uint64_t peak_at)
{
	uint64_t size = columns_size(c, row), freed_at = columns_freed_at(c, row);

	s->count++;
	s->bytes += size;
	if (freed_at == NEVER) {
		s->leaked_count++;
		s->leaked_bytes += size;
	}
	if (columns_allocated_at(c, row) <= peak_at && freed_at > peak_at) {
		s->peak_count++;
		s->peak_bytes += size;
	}
	if (tags_flags(columns_tags(c, row)) & TAG_TEMPORARY) {
		s->temporary++;
		s->temporary_bytes += size;
	}
}

struct summing {
	const struct nodes *nodes;
	uint32_t *place; /* by stack: of its row in sums, plus one */
	struct stack_sums sums;
	size_t room;
};

static struct stack_sum *sum_of(struct summing *s, uint32_t stack, uint32_t call, uint64_t at)
{
	struct stack_sums *sums = &s->sums;

	if (!node_is_known(s->nodes, stack))
		stack = STACK_NONE;
	if (!s->place[stack]) {
		*xpush(sums->rows, sums->count, s->room) =
			(struct stack_sum){ .stack = stack, .call = call, .first_at = at };
		s->place[stack] = sums->count;
	}
	return &sums->rows[s->place[stack] - 1];
}

static void add_removed(struct summing *s, const struct model *m)
{
	const struct removed *r = &m->tables.removed;

	for (size_t i = 0; i < r->count; i++) {
		const struct statistics *row = &r->rows[i];
		struct stack_sum *sum = sum_of(s, row->stack, row->call, row->first_at);

		if (row->count && row->first_at < sum->first_at) {
			sum->first_at = row->first_at;
			sum->call = row->call;
		}
		sum->count += row->count;
		sum->bytes += row->bytes;
		sum->temporary += row->temporary;
		sum->temporary_bytes += row->temporary_bytes;
		if (m->peak_is_whole) {
			sum->peak_count += row->peak_count;
			sum->peak_bytes += row->peak_bytes;
		}
	}
}

static void copy_sums(const struct stack_sums *from, struct stack_sums *ret_sums)
{
	ret_sums->count = from->count;
	ret_sums->rows = xcalloc(from->count, sizeof(*from->rows));
	if (from->count)
		memcpy(ret_sums->rows, from->rows, from->count * sizeof(*from->rows));
}

static void summing_init(struct summing *s, const struct model *m)
{
	*s = (struct summing){ .nodes = &m->tables.nodes, .room = 64 };
	s->place = xcalloc(s->nodes->count + 1, sizeof(*s->place));
	s->sums.rows = xcalloc(s->room, sizeof(*s->sums.rows));
}

/* Rows on all cores, each worker with sums of its own. */
struct scan {
	const struct model *m;
	const uint64_t *bits; /* NULL: all rows */
	bool whole_peak;      /* is in the rows of what was removed, for stacks that have one */
	struct summing *parts;
};

static void scan_window(struct scan *k, struct summing *s, const struct columns *c, uint32_t first,
			uint32_t count)
{
	const struct removed *r = &k->m->tables.removed;

	for (uint32_t i = first; i < first + count; i++) {
		if (k->bits && !(k->bits[i / 64] >> (i % 64) & 1))
			continue;
		add_row(sum_of(s, columns_stack(c, i), tags_call(columns_tags(c, i)),
			       columns_allocated_at(c, i)),
			c, i,
			k->whole_peak && removed_find(r, columns_stack(c, i))
				? NEVER
				: k->m->totals.peak_at);
	}
}

static void scan_rows(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct scan *k = context;
	struct summing *s = &k->parts[worker];
	struct columns_window w;

	if (!s->place)
		summing_init(s, k->m);
	EACH_WINDOW(at, n, first, count)
	scan_window(k, s,
		    columns_window(&w, &k->m->allocations, at, n,
				   WANT_stack | WANT_tags | WANT_allocated_at | WANT_freed_at |
					   WANT_size),
		    at, n);
}

static void add_sum(struct stack_sum *to, const struct stack_sum *from)
{
	if (from->first_at < to->first_at) {
		to->first_at = from->first_at;
		to->call = from->call;
	}
	to->count += from->count;
	to->bytes += from->bytes;
	to->leaked_count += from->leaked_count;
	to->leaked_bytes += from->leaked_bytes;
	to->peak_count += from->peak_count;
	to->peak_bytes += from->peak_bytes;
	to->temporary += from->temporary;
	to->temporary_bytes += from->temporary_bytes;
}

ORDER(by_first, struct stack_sum, RISING(first_at) ?: RISING(stack))

/* In the order in which stacks first allocated, however many threads there were. */
static void sum_all(const struct model *m, const uint64_t *bits, bool whole_peak,
		    struct summing *ret_sum)
{
	unsigned workers = parallel_workers();
	struct scan k = { .m = m, .bits = bits, .whole_peak = whole_peak };
	struct summing *sum = ret_sum;

	k.parts = xcalloc(workers, sizeof(*k.parts));
	parallel_for(m->allocations.count, SCAN_BLOCK, scan_rows, &k);
	summing_init(sum, m);
	for (unsigned w = 0; w < workers; w++) {
		const struct stack_sums *part = &k.parts[w].sums;

		for (uint32_t i = 0; i < part->count; i++) {
			const struct stack_sum *row = &part->rows[i];

			add_sum(sum_of(sum, row->stack, row->call, row->first_at), row);
		}
		free(k.parts[w].place);
		free(k.parts[w].sums.rows);
	}
	free(k.parts);
	SORT(sum->sums.rows, sum->sums.count, by_first);
	for (uint32_t i = 0; i < sum->sums.count; i++)
		sum->place[sum->sums.rows[i].stack] = i + 1;
}

void stats_sum_stacks(const struct model *m, struct stack_sums *ret_sums)
{
	struct summing s;

	if (m->derived) {
		copy_sums(&m->derived->sums, ret_sums);
		return;
	}
	sum_all(m, NULL, m->peak_is_whole, &s);
	add_removed(&s, m);
	free(s.place);
	*ret_sums = s.sums;
}

void stats_sum_selected(const struct model *m, const uint64_t *bits, struct stack_sums *ret_sums)
{
	struct summing s;

	sum_all(m, bits, false, &s);
	free(s.place);
	*ret_sums = s.sums;
}

void stats_derive(struct model *m)
{
	struct derived *d = xcalloc(1, sizeof(*d));

	stats_forget(m);
	stats_count_stacks(m, &d->counts);
	stats_sum_stacks(m, &d->sums);
	m->derived = d;
}

void stats_forget(struct model *m)
{
	struct derived *d = m->derived;

	if (d && d->mapped)
		pages_free(d->sums.rows, d->sums.count * sizeof(*d->sums.rows));
	else if (d)
		stack_sums_release(&d->sums);
	free(d);
	m->derived = NULL;
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

	SORT_WITH(s->rows, s->count, compare, &order);
	while (found < n && found < s->count &&
	       (stack_sum_key(&s->rows[found], order) ||
		(order == BY_LEAKED_BYTES && s->rows[found].leaked_count)))
		found++;
	return found;
}
