/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sorting and paging.  See sort.h.
 *
 * A page near the front is found with a heap in each worker that holds the best so far: nearly
 * every row costs one comparison.  A page far behind it takes all rows, and selects before it
 * sorts. */
#include "query/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/clock.h"

#define HEAP_MAX 65536u /* rows that are worth keeping in a heap */

const struct sort_key sort_keys[] = {
	{ "timestamp", SORT_TIMESTAMP, "when it was allocated" },
	{ "address", SORT_ADDRESS, "where it was" },
	{ "size", SORT_SIZE, "bytes that were asked for" },
	{ "usable_size", SORT_USABLE_SIZE, "bytes that the allocator gave" },
	{ "lifetime", SORT_LIFETIME, "how long it lived" },
	{ "deallocated", SORT_DEALLOCATED, "when it was freed; never is last" },
	{ "chain_lifetime", SORT_CHAIN_LIFETIME, "how long its realloc chain lived" },
	{ "chain_length", SORT_CHAIN_LENGTH, "blocks in its realloc chain" },
	{ "thread", SORT_THREAD, "number of the thread that allocated it" },
	{ 0 },
};

const struct sort_key *sort_key_find(const char *name)
{
	for (const struct sort_key *k = sort_keys; k->name; k++) {
		const char *a = name, *b = k->name;

		while (*a && (*a == *b || (*a == '-' && *b == '_'))) {
			a++;
			b++;
		}
		if (!*a && !*b)
			return k;
	}
	return NULL;
}

bool sort_order(const char *word, bool *ret_descending)
{
	*ret_descending = *word == 'd';
	return !strcmp(word, "asc") || !strcmp(word, "dsc") || !strcmp(word, "desc");
}

static bool before(const struct sort_item *a, const struct sort_item *b)
{
	return a->key != b->key ? a->key < b->key : a->item < b->item;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

static void swap(struct sort_item *a, struct sort_item *b)
{
	struct sort_item t = *a;

	*a = *b;
	*b = t;
}

/* Brings the `n` first of items[low, high) to the front of it, in any order. */
static void select_first(struct sort_item *items, uint32_t low, uint32_t high, uint32_t n)
{
	while (n && n < high - low) {
		struct sort_item pivot;
		uint32_t middle = low + (high - low) / 2, i = low, k = high - 1;

		if (before(&items[middle], &items[low]))
			swap(&items[middle], &items[low]);
		if (before(&items[high - 1], &items[low]))
			swap(&items[high - 1], &items[low]);
		if (before(&items[high - 1], &items[middle]))
			swap(&items[high - 1], &items[middle]);
		pivot = items[middle];
		for (;; i++, k--) { /* Hoare: what is left of i is not behind the pivot */
			while (before(&items[i], &pivot))
				i++;
			while (before(&pivot, &items[k]))
				k--;
			if (i >= k)
				break;
			swap(&items[i], &items[k]);
		}
		/* The keys differ, so items[k] is the pivot or before it, and all behind k behind
		 * it. */
		if (low + n <= k + 1) {
			if (high == k + 1)
				return;
			high = k + 1;
		} else {
			n -= k + 1 - low;
			low = k + 1;
		}
	}
}

uint32_t sort_items(struct sort_item *items, uint32_t total, uint32_t skip, uint32_t count)
{
	uint32_t end;

	if (skip >= total)
		return 0;
	end = count < total - skip ? skip + count : total;
	select_first(items, 0, total, end);
	select_first(items, 0, end, skip);
	qsort(items + skip, end - skip, sizeof(*items), compare);
	memmove(items, items + skip, (end - skip) * sizeof(*items));
	return end - skip;
}

struct sorting {
	const struct view *v;
	struct model_clock clock;
	enum sort_key_kind kind;
	bool descending;
	uint32_t most; /* rows in each heap */
	struct {
		struct sort_item *items; /* the last one is at the top */
		uint32_t count;
	} * heaps; /* by worker */
	struct sort_item *all;
};

static uint64_t freed_or_end(const struct sorting *s, uint32_t row)
{
	uint64_t freed = s->v->model->allocations.freed_at[row];

	return freed == NEVER ? s->clock.end : freed;
}

static inline uint64_t key_of(const struct sorting *s, uint32_t row)
{
	const struct model *m = s->v->model;
	const struct columns *c = &m->allocations;
	uint32_t chain, first, last;

	switch (s->kind) {
	case SORT_TIMESTAMP:
		return c->allocated_at[row];
	case SORT_ADDRESS:
		return c->address[row];
	case SORT_SIZE:
		return columns_size(c, row);
	case SORT_USABLE_SIZE:
		return columns_size(c, row) + columns_slack_of(c, row);
	case SORT_LIFETIME:
		return freed_or_end(s, row) - c->allocated_at[row];
	case SORT_DEALLOCATED:
		return c->freed_at[row];
	case SORT_CHAIN_LENGTH:
		chain = c->chain[row];
		return chain == NO_CHAIN ? 1 : m->chains[chain].length;
	case SORT_CHAIN_LIFETIME:
		chain = c->chain[row];
		first = chain == NO_CHAIN ? row : m->chains[chain].first;
		last = chain == NO_CHAIN ? row : m->chains[chain].last;
		return freed_or_end(s, last) - c->allocated_at[first];
	case SORT_THREAD:
		return m->tables.threads.rows[tags_thread(c->tags[row])].tid;
	}
	return 0;
}

static void sift_down(struct sort_item *heap, uint32_t count, uint32_t i)
{
	for (;;) {
		uint32_t last = i, child = 2 * i + 1;

		if (child < count && before(&heap[last], &heap[child]))
			last = child;
		if (child + 1 < count && before(&heap[last], &heap[child + 1]))
			last = child + 1;
		if (last == i)
			return;
		swap(&heap[i], &heap[last]);
		i = last;
	}
}

static void heap_work(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sorting *s = context;
	struct sort_item *heap = s->heaps[worker].items;
	uint32_t n = s->heaps[worker].count;
	uint64_t flip = s->descending ? UINT64_MAX : 0;

	VIEW_EACH(s->v, first, count, row)
	{
		struct sort_item item = { .key = key_of(s, row) ^ flip, .item = row };

		if (n == s->most) {
			if (!before(&item, &heap[0]))
				continue;
			heap[0] = item;
			sift_down(heap, n, 0);
			continue;
		}
		heap[n] = item;
		for (uint32_t i = n++; i && before(&heap[(i - 1) / 2], &heap[i]); i = (i - 1) / 2)
			swap(&heap[i], &heap[(i - 1) / 2]);
	}
	s->heaps[worker].count = n;
}

static struct page page_of(struct sort_item *items, uint32_t total, uint32_t skip, uint32_t count)
{
	struct page p = { .count = sort_items(items, total, skip, count) };

	p.rows = xcalloc(p.count + 1, sizeof(*p.rows));
	for (uint32_t i = 0; i < p.count; i++)
		p.rows[i] = items[i].item;
	free(items);
	return p;
}

static struct page by_heap(struct sorting *s, uint32_t skip, uint32_t count)
{
	unsigned workers = parallel_workers();
	struct sort_item *all = xcalloc((size_t)s->most * workers + 1, sizeof(*all));
	uint32_t n = 0;

	s->heaps = xcalloc(workers, sizeof(*s->heaps));
	for (unsigned i = 0; i < workers; i++)
		s->heaps[i].items = xcalloc(s->most, sizeof(struct sort_item));
	parallel_for(s->v->model->allocations.count, VIEW_BLOCK, heap_work, s);
	for (unsigned i = 0; i < workers; i++) {
		memcpy(all + n, s->heaps[i].items, s->heaps[i].count * sizeof(*all));
		n += s->heaps[i].count;
		free(s->heaps[i].items);
	}
	free(s->heaps);
	return page_of(all, n, skip, count);
}

static struct page by_everything(struct sorting *s, uint32_t skip, uint32_t count)
{
	struct sort_item *all = xcalloc((size_t)s->v->count + 1, sizeof(*all));
	uint64_t flip = s->descending ? UINT64_MAX : 0;
	uint32_t n = 0;

	VIEW_EACH(s->v, 0, s->v->model->allocations.count, row)
	all[n++] = (struct sort_item){ .key = key_of(s, row) ^ flip, .item = row };
	return page_of(all, n, skip, count);
}

struct page sort_page(const struct view *v, const struct sort_key *key, bool descending,
		      uint32_t skip, uint32_t count)
{
	struct sorting s = {
		.v = v, .clock = model_clock(v->model), .kind = key->kind, .descending = descending
	};
	struct page p = { 0 };

	if (skip >= v->count || !count)
		return p;
	if (count > v->count - skip)
		count = v->count - skip;
	if (key->kind == SORT_TIMESTAMP && !descending) { /* they are sorted already */
		p.rows = xcalloc(count, sizeof(*p.rows));
		p.count = view_rows(v, skip, count, p.rows);
		return p;
	}
	s.most = skip + count;
	if (s.most <= HEAP_MAX)
		return by_heap(&s, skip, count);
	return by_everything(&s, skip, count);
}
