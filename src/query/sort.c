/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sorting and paging.  See sort.h.
 *
 * A page near the front is found with a heap in each worker that holds the best so far: nearly
 * every row costs one comparison.  A page far behind it takes all rows, and selects before it
 * sorts. */
#include "query/sort.h"

#include <string.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/fields.h"

#define HEAP_MAX 65536u /* rows that are worth keeping in a heap */

#define NUMBER(id, name, column, ...) column "|"
const char sort_words[] =
#include "query/fields.def"
	"thread";
#undef NUMBER

const struct filter_field *sort_field(const char *name)
{
	static const char *const columns[] = {
#define NUMBER(id, name, column, ...) [ROW_##id] = column,
#include "query/fields.def"
#undef NUMBER
	};

	return FIND_ROW(f, filter_fields,
			(f->class == FIELD_ROW && !strcmp(name, columns[f->which])) ||
				(f->class == FIELD_THREAD && f->which == SIDE_ALLOCATION &&
				 !strcmp(name, f->name)));
}

const char *sort_member(const struct filter_field *field)
{
	static const char *const members[] = {
#define NUMBER(id, name, column, json, ...) [ROW_##id] = json,
#include "query/fields.def"
#undef NUMBER
	};
	const char *member = field->class == FIELD_ROW ? members[field->which] : field->name;

	return *member ? member : NULL;
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
	SORT(items + skip, end - skip, compare);
	memmove(items, items + skip, (end - skip) * sizeof(*items));
	return end - skip;
}

struct sorting {
	const struct view *v;
	struct model_clock clock;
	const struct filter_field *field;
	bool descending;
	uint32_t most; /* rows in each heap */
	struct {
		struct sort_item *items; /* the last one is at the top */
		uint32_t count;
	} * heaps; /* by worker */
	struct sort_item *all;
};

static inline uint64_t key_of(const struct sorting *s, uint32_t row)
{
	const struct model *m = s->v->model;

	if (s->field->class == FIELD_THREAD)
		return m->tables.threads.rows[tags_thread(columns_tags(&m->allocations, row))].tid;
	return field_number(m, &s->clock, (enum row_number)s->field->which, row);
}

bool sort_is_by_time(const struct filter_field *field)
{
	return field->class == FIELD_ROW && field->which == ROW_ALLOCATED;
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

struct page sort_page(const struct view *v, const struct filter_field *field, bool descending,
		      uint32_t skip, uint32_t count)
{
	struct sorting s = {
		.v = v, .clock = model_clock(v->model), .field = field, .descending = descending
	};
	struct page p = { 0 };

	if (skip >= v->count || !count)
		return p;
	count = MIN(count, v->count - skip);
	if (sort_is_by_time(field) && !descending) { /* they are sorted already */
		p.rows = xcalloc(count, sizeof(*p.rows));
		p.count = view_rows(v, skip, count, p.rows);
		return p;
	}
	s.most = skip + count;
	if (s.most <= HEAP_MAX)
		return by_heap(&s, skip, count);
	return by_everything(&s, skip, count);
}
