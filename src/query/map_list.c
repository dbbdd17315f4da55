/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of memory maps.  See map_list.h. */
#include "query/map_list.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/nearest.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/steps.h"

#define FLAG_VALUES "only_true|only_false"
#define CALL_NONE (CALLS_MAX - 1) /* nobody was seen to map it */

const struct map_filter_row map_filter_rows[] = {
	{ "readable", ARG_CHOICE, FLAG_VALUES, "may it be read?" },
	{ "writable", ARG_CHOICE, FLAG_VALUES, "may it be written to?" },
	{ "executable", ARG_CHOICE, FLAG_VALUES, "may it be executed?" },
	{ "shared", ARG_CHOICE, FLAG_VALUES, "is it shared with others?" },
	{ "jemalloc", ARG_CHOICE, FLAG_VALUES, "did jemalloc map it?" },
	{ "memoir", ARG_CHOICE, FLAG_VALUES, "is it the recorder's own?" },
	{ "peak_rss_min", ARG_SIZE, NULL, "this much of it, or more, was resident at some time" },
	{ "peak_rss_max", ARG_SIZE, NULL, "never more than this was" },
	{ "id", ARG_NUMBER, NULL, "only the map of this number" },
	{ "name", ARG_TEXT, NULL, "this is in its name: a part of a file's path, or [heap]" },
	{ "holds", ARG_ADDRESS, NULL, "this address is, or was, in it" },
	{ 0 },
};

void map_filter_init(struct map_filter *f)
{
	*f = (struct map_filter){ .peak_rss_max = UINT64_MAX };
}

static int set_flag(int8_t *flag, const char *value, struct err *err)
{
	if (!strcmp(value, "only_true") || !strcmp(value, "yes"))
		*flag = 1;
	else if (!strcmp(value, "only_false") || !strcmp(value, "no"))
		*flag = -1;
	else
		return err_set(err, -EINVAL, "'%.40s' is not only_true or only_false", value);
	return 0;
}

static int set_name(struct map_filter *f, const char *text, struct err *err)
{
	size_t size = strlen(text) + 1;

	if (size > sizeof(f->name))
		return err_set(err, -EINVAL, "no more than %zu letters", sizeof(f->name) - 1);
	memcpy(f->name, text, size);
	return 0;
}

int map_filter_set(struct map_filter *f, const char *name, const char *value, struct err *err)
{
	const struct map_filter_row *row = map_filter_rows;
	struct value v;
	size_t i;
	int error;

	if (nearest_same(name, "bytehound")) /* whose pages know it by that */
		name = "memoir";
	while (row->name && !nearest_same(name, row->name))
		row++;
	if (!row->name)
		return -ENOENT;
	i = (size_t)(row - map_filter_rows);
	if (i < MAP_FILTER_FLAGS)
		return set_flag(&f->flags[i], value, err);
	error = value_parse(&v, row->type, value, err);
	if (error)
		return error;
	if (i == MAP_FILTER_FLAGS) {
		f->peak_rss_min = v.number;
	} else if (i == MAP_FILTER_FLAGS + 1) {
		f->peak_rss_max = v.number;
	} else if (i == MAP_FILTER_FLAGS + 2) {
		f->by_id = true;
		f->id = v.number;
	} else if (i == MAP_FILTER_FLAGS + 4) {
		f->by_address = true;
		f->holds = v.number;
	} else {
		error = set_name(f, v.text, err);
	}
	value_release(&v);
	return error;
}

static bool has(const struct map_history *m, const struct map_row *row, unsigned flag)
{
	static const uint8_t bits[] = { MAP_CAN_READ, MAP_CAN_WRITE, MAP_CAN_EXECUTE,
					MAP_IS_SHARED };

	if (flag < sizeof(bits))
		return row->flags & bits[flag];
	if (flag == 4)
		return m->jemalloc && row->flags & MAP_BY_ALLOCATOR;
	return row->flags & MAP_IS_OWN;
}

static bool holds(const struct map_history *m, const struct map_row *row, uint64_t address)
{
	for (uint32_t i = 0; i < row->region_count; i++) {
		const struct map_region *r = &m->regions[row->first_region + i];

		if (address >= r->address && address - r->address < r->length)
			return true;
	}
	return false;
}

static bool fits(const struct map_history *m, const struct map_filter *f, uint32_t i)
{
	const struct map_row *row = &m->rows[i];

	for (unsigned flag = 0; flag < MAP_FILTER_FLAGS; flag++)
		if (f->flags[flag] && has(m, row, flag) != (f->flags[flag] > 0))
			return false;
	return row->peak_rss >= f->peak_rss_min && row->peak_rss <= f->peak_rss_max &&
	       (!f->by_id || f->id == i) && (!f->by_address || holds(m, row, f->holds)) &&
	       (!*f->name || strstr(map_history_name(m, row), f->name));
}

static uint32_t thread_of(const struct model *m, const struct map_call *call)
{
	return call->thread < m->tables.threads.count ? call->thread : 0;
}

static void add_row(struct model *shadow, const struct map_history *maps, const struct map_row *row)
{
	uint32_t maker = map_history_maker(maps, row);
	const struct map_call *call = maker == NO_CALL ? NULL : &maps->calls.rows[maker];
	const struct map_call *end =
		row->end_call == NO_CALL ? NULL : &maps->calls.rows[row->end_call];
	struct columns *c = &shadow->allocations;
	uint32_t i = c->count;

	if (i == c->room)
		columns_grow(c);
	c->plain.allocated_at[i] = row->begun;
	c->plain.freed_at[i] = row->ended;
	c->plain.address[i] = row->address;
	columns_set_size(c, i, row->size & EVENT_SIZE_MASK, 0);
	c->plain.tags[i] =
		tags_make(call ? thread_of(shadow, call) : 0, call ? call->call : CALL_NONE, 0);
	c->plain.stack[i] = call ? call->stack : STACK_NONE;
	c->plain.free_stack[i] = end ? end->stack : STACK_NONE;
	if (end)
		c->plain.tags[i] =
			tags_freed(c->plain.tags[i], thread_of(shadow, end), end->call, 0);
	else if (row->ended != NEVER)
		c->plain.tags[i] |= (uint64_t)TAG_FREE_LOST << 58;
	c->plain.previous[i] = NO_ALLOCATION;
	c->plain.chain[i] = NO_CHAIN;
	c->plain.position[i] = 0;
	c->count++;
	shadow->recorded.allocated_bytes += columns_size(c, i);
}

/* A model that has all of the other's tables, and maps instead of allocations. */
static struct model *make_shadow(const struct model *m, const struct map_history *maps)
{
	struct model *s = xmalloc(sizeof(*s));

	memcpy((void *)s, (const void *)m, sizeof(*s));
	s->allocations = (struct columns){ 0 };
	s->chains = NULL;
	s->chain_count = s->chain_room = 0;
	s->chains_offset = 0;
	s->loader = NULL;
	s->cache = NULL;
	s->derived = NULL;
	s->free_order = NULL;
	s->summary = NULL;
	s->maps = NULL;
	/* Another thread may hold those that were copied. */
	pthread_mutex_init(&s->building_summary, NULL);
	pthread_mutex_init(&s->building_free_order, NULL);
	/* What was taken out of the recording is not of these. */
	s->tables.removed = (struct removed){ 0 };
	s->recorded.allocated_bytes = 0;
	for (uint32_t i = 0; i < maps->count; i++)
		add_row(s, maps, &maps->rows[i]);
	return s;
}

/* Leaves what the two share. */
static void free_shadow(struct model *s)
{
	if (!s)
		return;
	stats_forget(s);
	s->free_order = free_order_free(s->free_order);
	s->summary = summary_free(s->summary);
	s->maps = map_history_free(s->maps);
	columns_release(&s->allocations);
	free(s);
}

static void narrow(struct map_list *l, const struct map_filter *only)
{
	struct view *v = l->view;
	const struct columns *c = &l->shadow->allocations;
	uint64_t *bits = xcalloc((size_t)c->count / 64 + 1, sizeof(*bits));

	v->count = 0;
	v->bytes = 0;
	for (uint32_t i = 0; i < c->count; i++) {
		if (!view_has(v, i) || !fits(l->maps, only, i))
			continue;
		bit_set(bits, i);
		v->count++;
		v->bytes += columns_size(c, i);
	}
	free(v->bits);
	v->bits = bits;
}

struct map_list *map_list_new(const struct model *m, struct locations *p, const struct filter *f,
			      const struct map_filter *only, struct err *err)
{
	struct map_list *l = xcalloc(1, sizeof(*l));

	l->at = NEVER;
	l->maps = model_maps(m);
	l->shadow = make_shadow(m, l->maps);
	l->view = view_new(l->shadow, p, f, err);
	if (!l->view)
		return map_list_free(l);
	narrow(l, only);
	return l;
}

struct map_list *map_list_free(struct map_list *l)
{
	if (!l)
		return NULL;
	view_free(l->view);
	free_shadow(l->shadow);
	free(l);
	return NULL;
}

const char *const map_sort_names[MAP_SORTS] = { "timestamp", "address",	 "size",   "peak_rss",
						"rss",	     "lifetime", "thread", "name" };

enum map_sort map_sort_find(const char *name)
{
	unsigned i = 0;

	while (i < MAP_SORTS && !nearest_same(name, map_sort_names[i]))
		i++;
	return (enum map_sort)i;
}

uint64_t map_list_rss(const struct map_list *l, uint32_t map)
{
	const struct map_usage *u = map_history_usage(l->maps, &l->maps->rows[map], l->at);

	return u ? u->bytes.rss : 0;
}

static uint64_t thread_id(const struct map_list *l, uint32_t map)
{
	uint32_t maker = map_history_maker(l->maps, &l->maps->rows[map]);
	uint32_t thread = maker == NO_CALL ? UINT32_MAX : l->maps->calls.rows[maker].thread;
	const struct threads *threads = &l->shadow->tables.threads;

	return thread < threads->count ? threads->rows[thread].tid : 0;
}

/* Keys are made once: that of a thread, or of what was resident, is looked for. */
struct sorting {
	const struct map_list *list;
	uint64_t *keys; /* by map */
	bool descending;
};

static uint64_t key_of(const struct map_list *l, enum map_sort by, uint32_t i)
{
	const struct map_row *row = &l->maps->rows[i];

	switch (by) {
	case MAP_SORT_ADDRESS:
		return row->address;
	case MAP_SORT_SIZE:
		return row->size;
	case MAP_SORT_PEAK_RSS:
		return row->peak_rss;
	case MAP_SORT_RSS:
		return map_list_rss(l, i);
	case MAP_SORT_LIFETIME:
		return row->ended - row->begun;
	case MAP_SORT_THREAD:
		return thread_id(l, i);
	default:
		return row->begun;
	}
}

static int compare(const void *x, const void *y, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint64_t ka = s->keys[a], kb = s->keys[b];

	if (ka == kb)
		return a < b ? -1 : a > b;
	return (ka < kb) == s->descending ? 1 : -1;
}

static const char *name_at(const struct map_list *l, uint32_t map)
{
	return map_history_name(l->maps, &l->maps->rows[map]);
}

static int compare_names(const void *x, const void *y, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	int order = strcmp(name_at(s->list, a), name_at(s->list, b));

	if (!order)
		return a < b ? -1 : a > b;
	return s->descending ? -order : order;
}

uint32_t map_list_page(const struct map_list *l, enum map_sort sort, bool descending, uint32_t skip,
		       uint32_t count, uint32_t **ret_rows)
{
	auto_free uint64_t *keys = xcalloc((size_t)l->maps->count + 1, sizeof(*keys));
	struct sorting how = { l, keys, descending };
	uint32_t *rows = xcalloc((size_t)l->view->count + 1, sizeof(*rows));
	uint32_t found = view_rows(l->view, 0, l->view->count, rows), left;

	for (uint32_t i = 0; i < found && sort != MAP_SORT_NAME; i++)
		keys[rows[i]] = key_of(l, sort, rows[i]);
	SORT_WITH(rows, found, sort == MAP_SORT_NAME ? compare_names : compare, &how);
	skip = skip < found ? skip : found;
	left = found - skip;
	memmove(rows, rows + skip, left * sizeof(*rows));
	*ret_rows = rows;
	return left < count ? left : count;
}
