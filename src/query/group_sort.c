/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names and order of groups.  See group.h. */
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "query/group.h"
#include "query/sort.h"

const char *const group_numbers[NUMBERS] = {
#define SUM(id, name, ...) [NUMBER_##id] = name,
#include "query/group_fields.def"
#undef SUM
	[NUMBER_PEAK_AT] = "max_total_usage_first_seen_at",
	[NUMBER_PEAK_SIZE] = "peak_size",
	[NUMBER_PEAK_COUNT] = "peak_count",
	[NUMBER_KEY] = "key",
};

bool group_sort_find(const struct group_key *key, const char *name, struct group_sort *ret_sort)
{
	static const struct {
		const char *prefix;
		enum group_part part;
	} parts[] = { { "only_matched.", PART_MATCHED },
		      { "matched.", PART_MATCHED },
		      { "all.", PART_ALL },
		      { "self.", PART_SELF } };
	struct group_sort s = { .part = PART_MATCHED, .number = NUMBERS };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strncmp(name, parts[i].prefix, strlen(parts[i].prefix))) {
			s.part = parts[i].part;
			name += strlen(parts[i].prefix);
			break;
		}
	for (unsigned i = 0; i < NUMBERS; i++)
		if (nearest_same(name, group_numbers[i]))
			s.number = (enum group_number)i;
	if (!strcmp(name, "count"))
		s.number = NUMBER_ALLOCATED_COUNT;
	else if (!strcmp(name, "leaked"))
		s.number = NUMBER_LEAKED_SIZE;
	else if (!strcmp(name, "peak"))
		s.number = NUMBER_PEAK_SIZE;
	*ret_sort = s;
	if (s.number >= NUMBER_PEAK_AT && s.number <= NUMBER_PEAK_COUNT)
		return key->kind == GROUP_STACK;
	return s.number != NUMBERS;
}

uint64_t group_sum(const struct summary_sums *s, enum group_number number)
{
	switch (number) {
#define SUM(id, name, type, heading, place, from, value, help)                                     \
	case NUMBER_##id:                                                                          \
		return value;
#include "query/group_fields.def"
#undef SUM
	default:
		return 0;
	}
}

static uint64_t key_of(const struct groups *g, const struct group *group, struct group_sort sort,
		       const struct stack_peak *peaks)
{
	const struct summary_sums *s = sort.part == PART_ALL	? &group->all
				       : sort.part == PART_SELF ? &group->self
								: &group->matched;

	switch (sort.number) {
	case NUMBER_PEAK_AT:
		return peaks[group->id].at;
	case NUMBER_PEAK_SIZE:
		return peaks[group->id].bytes;
	case NUMBER_PEAK_COUNT:
		return peaks[group->id].count;
	case NUMBER_KEY:
		return g->key->kind == GROUP_THREAD
			       ? g->view->model->tables.threads.rows[group->id].tid
			       : group->id;
	default:
		return group_sum(s, sort.number);
	}
}

struct page groups_page(const struct groups *g, struct group_sort sort, bool descending,
			uint32_t skip, uint32_t count)
{
	auto_free struct sort_item *items = xcalloc((size_t)g->count + 1, sizeof(*items));
	uint64_t flip = descending ? UINT64_MAX : 0;
	const struct stack_peak *peaks = NULL;
	struct page p = { 0 };

	if (sort.number >= NUMBER_PEAK_AT && sort.number <= NUMBER_PEAK_COUNT)
		peaks = model_peaks(g->view->model);
	for (uint32_t i = 0; i < g->count; i++)
		items[i] = (struct sort_item){ key_of(g, &g->rows[i], sort, peaks) ^ flip, i };
	p.count = sort_items(items, g->count, skip, count);
	p.rows = xcalloc((size_t)p.count + 1, sizeof(*p.rows));
	for (uint32_t i = 0; i < p.count; i++)
		p.rows[i] = items[i].item;
	return p;
}

static void label_unnamed(const struct groups *g, const struct group *group, const char *what,
			  struct buf *out)
{
	if (group->module)
		buf_printf(out, "%s in %s", what,
			   path_base(locations_module_path(g->view->locations, group->module)));
	else
		buf_text(out, what);
}

static void label_lifetime(const struct group *group, struct buf *out)
{
	static const char *const decades[GROUP_LIFETIMES] = {
		"less than 1 \xc2\xb5s",
		"1 \xc2\xb5s to 10 \xc2\xb5s",
		"10 \xc2\xb5s to 100 \xc2\xb5s",
		"100 \xc2\xb5s to 1 ms",
		"1 ms to 10 ms",
		"10 ms to 100 ms",
		"100 ms to 1 s",
		"1 s to 10 s",
		"10 s to 100 s",
		"100 s to 1,000 s",
		"1,000 s to 10,000 s",
		"10,000 s to 100,000 s",
	};

	if (group->id == GROUP_NEVER_FREED)
		buf_text(out, "never freed");
	else
		buf_text(out, decades[group->id] ? decades[group->id] : "100,000 s and more");
}

static void label_size(const struct groups *g, const struct group *group, struct buf *out)
{
	uint64_t low, high;

	group_size_bounds(g->key->kind, group->id, &low, &high);
	if (low == high)
		buf_printf(out, "%s", size_text(low));
	else
		buf_printf(out, "%s to %s", count_text(low), count_text(high));
}

void groups_label(const struct groups *g, const struct group *group, struct buf *out)
{
	struct locations *p = g->view->locations;
	const struct thread *t;

	switch (g->key->kind) {
	case GROUP_STACK:
		buf_printf(out, "stack %u", group->id);
		return;
	case GROUP_RESPONSIBLE:
		if (group->id)
			buf_text(out, locations_string(p, group->id));
		else if (group->line)
			locations_unnamed(p, locations_at(p, group->line)->module,
					  locations_at(p, group->line)->address, out);
		else
			buf_text(out, "(no stack)");
		return;
	case GROUP_FUNCTION:
		if (group->id)
			buf_text(out, locations_string(p, group->id));
		else
			label_unnamed(g, group, "unknown function", out);
		return;
	case GROUP_SOURCE:
		if (!group->id)
			label_unnamed(g, group, "unknown source", out);
		else if (group->line)
			buf_printf(out, "%s:%u", locations_string(p, group->id), group->line);
		else
			buf_text(out, locations_string(p, group->id));
		return;
	case GROUP_MODULE:
		buf_text(out, group->id ? locations_module_path(p, group->id) : "no module");
		return;
	case GROUP_THREAD:
		t = &g->view->model->tables.threads.rows[group->id];
		if (*t->name)
			buf_printf(out, "%s (%llu)", t->name, (unsigned long long)t->tid);
		else
			buf_printf(out, "thread %llu", (unsigned long long)t->tid);
		return;
	case GROUP_CALL:
		buf_text(out, locations_call(p, group->id));
		return;
	case GROUP_SIZE:
	case GROUP_SIZE_CLASS:
		label_size(g, group, out);
		return;
	case GROUP_LIFETIME:
		label_lifetime(group, out);
		return;
	}
}
