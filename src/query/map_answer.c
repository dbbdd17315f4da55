/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps as JSON.  See map_answer.h. */
#include "query/map_answer.h"

#include <stdlib.h>

#include "base/xalloc.h"

void map_answer_init(struct map_answer *a, const struct map_list *l)
{
	*a = (struct map_answer){ .list = l };
	answer_init(&a->answer, l->view);
}

void map_answer_release(struct map_answer *a)
{
	answer_release(&a->answer);
}

static void source(struct map_answer *a, struct json *j, uint32_t number)
{
	const struct model *m = a->list->shadow;
	const struct map_call *call;

	if (number == NO_CALL)
		return;
	call = &a->list->maps->calls.rows[number];
	json_object(j, "source");
	answer_moment(&a->answer, j, "timestamp", call->at);
	json_number(j, "thread",
		    call->thread < m->tables.threads.count
			    ? m->tables.threads.rows[call->thread].tid
			    : 0);
	json_text(j, "call", locations_call(a->list->view->locations, call->call));
	json_number(j, "backtrace_id", answer_stack(m, call->stack));
	answer_put_stack(&a->answer, j, "backtrace", call->stack, call->call);
	json_end_object(j);
}

static void permissions(struct json *j, unsigned flags)
{
	json_bool(j, "is_readable", flags & MAP_CAN_READ);
	json_bool(j, "is_writable", flags & MAP_CAN_WRITE);
	json_bool(j, "is_executable", flags & MAP_CAN_EXECUTE);
	json_bool(j, "is_shared", flags & MAP_IS_SHARED);
}

static void region(struct map_answer *a, struct json *j, const struct map_region *r)
{
	const struct map_history *m = a->list->maps;

	json_object(j, NULL);
	answer_address(j, r->address);
	answer_moment(&a->answer, j, "timestamp", r->begun);
	json_number(j, "size", r->length);
	if (r->ended != NEVER) {
		json_object(j, "deallocation");
		answer_moment(&a->answer, j, "timestamp", r->ended);
		json_array(j, "sources");
		for (uint32_t i = 0; i < r->source_count; i++) {
			const struct map_source *s = &m->sources[r->first_source + i];

			json_object(j, NULL);
			answer_address(j, s->address);
			json_number(j, "length", s->length);
			source(a, j, s->call);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	permissions(j, r->flags);
	json_number(j, "file_offset", r->offset);
	json_number(j, "inode", r->inode);
	json_number(j, "major", r->major);
	json_number(j, "minor", r->minor);
	json_text(j, "name", map_history_region_name(m, r));
	json_end_object(j);
}

static void usage(struct map_answer *a, struct json *j, const struct map_usage *u)
{
	json_object(j, NULL);
	answer_moment(&a->answer, j, "timestamp", u->at);
	json_number(j, "address_space", u->address_space);
	json_number(j, "anonymous", u->bytes.anonymous);
	json_number(j, "shared_clean", u->bytes.shared_clean);
	json_number(j, "shared_dirty", u->bytes.shared_dirty);
	json_number(j, "private_clean", u->bytes.private_clean);
	json_number(j, "private_dirty", u->bytes.private_dirty);
	json_number(j, "swap", u->bytes.swap);
	json_number(j, "rss", u->bytes.rss);
	json_end_object(j);
}

void map_answer_map(struct map_answer *a, struct json *j, uint32_t map)
{
	const struct map_history *m = a->list->maps;
	const struct map_row *row = &m->rows[map];

	json_object(j, NULL);
	json_number(j, "id", map);
	answer_address(j, row->address);
	answer_moment(&a->answer, j, "timestamp", row->begun);
	json_number(j, "size", row->size);
	source(a, j, row->call);
	if (row->ended != NEVER) {
		json_object(j, "deallocation");
		answer_moment(&a->answer, j, "timestamp", row->ended);
		source(a, j, row->end_call);
		json_end_object(j);
	}
	permissions(j, row->flags);
	json_bool(j, "is_own", row->flags & MAP_IS_OWN);
	json_text(j, "name", map_history_name(m, row));
	json_number(j, "peak_rss", row->peak_rss);
	json_null(j, "graph_preview_url");
	json_null(j, "graph_url");
	if (a->regions) {
		json_array(j, "regions");
		for (uint32_t i = 0; i < row->region_count; i++)
			region(a, j, &m->regions[row->first_region + i]);
		json_end_array(j);
	}
	if (a->usage_history) {
		json_array(j, "usage_history");
		for (uint32_t i = 0; i < row->usage_count; i++)
			usage(a, j, &m->usages[row->first_usage + i]);
		json_end_array(j);
	}
	json_end_object(j);
}

static void add_point(struct map_point *p, const struct map_usage *u, bool less)
{
	const struct region_usage *b = &u->bytes;
	uint64_t sign = less ? UINT64_MAX : 1;

	p->address_space += sign * u->address_space;
	p->rss += sign * b->rss;
	p->anonymous += sign * b->anonymous;
	p->dirty += sign * (b->shared_dirty + b->private_dirty);
	p->clean += sign * (b->shared_clean + b->private_clean);
	p->swap += sign * b->swap;
}

/* Of many points, the last one of each of `count` equal parts of the time. */
static size_t thin_out(struct map_point *points, size_t n, size_t count)
{
	uint64_t from = points[0].at, to = points[n - 1].at;
	double part = (double)(to - from) / (double)count;
	size_t remaining = 0;

	for (size_t i = 0; i < n; i++) {
		double next = (double)(remaining + 1) * part;

		/* The next one is in the same part. */
		if (i + 1 < n && (double)(points[i + 1].at - from) < next)
			continue;
		points[remaining] = points[i];
		if (++remaining == count)
			break;
	}
	points[remaining - 1] = points[n - 1];
	return remaining;
}

size_t map_series(const struct map_list *l, size_t count, struct map_point **ret_points)
{
	const struct map_history *m = l->maps;
	struct map_point now = { 0 }, *points = NULL;
	size_t n = 0, room = 0;

	for (uint32_t i = 0; i < m->usage_count; i++) {
		uint32_t at = m->usage_order[i];
		const struct map_usage *u = &m->usages[at];

		if (!view_has(l->view, u->map))
			continue;
		if (at > m->rows[u->map].first_usage)
			add_point(&now, &m->usages[at - 1], true);
		add_point(&now, u, false);
		if (n && points[n - 1].at == u->at)
			n--;
		now.at = u->at;
		points = xgrow(points, n, &room, sizeof(*points));
		points[n++] = now;
	}
	*ret_points = points;
	return n > count && count ? thin_out(points, n, count) : n;
}

void map_answer_timeline(struct map_answer *a, struct json *j, size_t count)
{
	struct map_point *points;
	size_t n = map_series(a->list, count, &points);

	json_object(j, NULL);
	json_array(j, "xs");
	for (size_t i = 0; i < n; i++)
		json_number(j, NULL,
			    (a->answer.start_ns + clock_ns(&a->answer.clock, points[i].at)) /
				    1000000);
	json_end_array(j);
#define COLUMN(name)                                                                               \
	json_array(j, #name);                                                                      \
	for (size_t i = 0; i < n; i++)                                                             \
		json_number(j, NULL, points[i].name);                                              \
	json_end_array(j);
	COLUMN(address_space)
	COLUMN(rss)
	COLUMN(anonymous)
	COLUMN(dirty)
	COLUMN(clean)
	COLUMN(swap)
#undef COLUMN
	json_end_object(j);
	free(points);
}
