/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resident and mapped memory of a whole process.  See process_memory.h. */
#include "query/process_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "model/map_history.h"
#include "model/stats.h"

#define MAP_BY_ANOTHER (MAP_BY_ALLOCATOR | MAP_BY_LIBC)

bool map_is_programs(const struct map_row *row)
{
	return row->call != NO_CALL && row->flags & MAP_IS_ANONYMOUS &&
	       !(row->flags & (MAP_IS_OWN | MAP_IS_SHARED | MAP_BY_ANOTHER)) &&
	       row->flags & (MAP_CAN_READ | MAP_CAN_WRITE);
}

/* Anonymous memory that the kernel was not asked for by the program itself. */
static bool is_unmapped(const struct map_history *m, const struct map_row *row)
{
	return row->region_count && !m->regions[row->first_region].inode &&
	       (row->call == NO_CALL || row->flags & MAP_BY_ANOTHER) &&
	       !(row->flags & MAP_IS_SHARED);
}

static void add_usage(struct process_moment *to, const struct map_history *m,
		      const struct map_usage *u, uint64_t sign)
{
	const struct map_row *row = &m->rows[u->map];

	to->rss += sign * u->bytes.rss;
	if (is_unmapped(m, row))
		to->unmapped += sign * u->bytes.anonymous;
	if (!map_is_programs(row))
		return;
	to->mapped += sign * u->address_space;
	to->mapped_rss += sign * u->bytes.rss;
}

/* All that changed at one moment has been taken in. */
static void note_moment(struct process_memory *p, const struct process_moment *now)
{
	if (now->rss > p->peak.rss)
		p->peak = *now;
	if (now->mapped > p->most.mapped)
		p->most = *now;
	if (now->mapped_rss > p->peak_mapped_rss)
		p->peak_mapped_rss = now->mapped_rss;
}

static void follow_usages(struct process_memory *p, const struct map_history *m, uint64_t last)
{
	struct process_moment now = { 0 };

	for (uint32_t i = 0; i < m->usage_count; i++) {
		uint32_t at = m->usage_order[i];
		const struct map_usage *u = &m->usages[at];

		if (m->rows[u->map].flags & MAP_IS_OWN)
			continue;
		if (u->at != now.at)
			note_moment(p, &now);
		now.at = u->at;
		if (at > m->rows[u->map].first_usage)
			add_usage(&now, m, &m->usages[at - 1], UINT64_MAX);
		add_usage(&now, m, u, 1);
		if (u->at <= last)
			p->last = now;
	}
	note_moment(p, &now);
}

/* What a map had at a moment: its last usage until then. */
static uint64_t size_at(const struct map_history *m, const struct map_row *row, uint64_t at)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < row->usage_count; i++) {
		const struct map_usage *u = &m->usages[row->first_usage + i];

		if (u->at > at)
			break;
		size = u->address_space;
	}
	return size;
}

/* The frame that called mmap: its function's string, or else its location behind all strings. */
static uint32_t mapper_of(struct locations *p, uint32_t stack)
{
	uint32_t location = locations_of_node(p, stack);
	unsigned count;
	const struct location_frame *frames = locations_frames(p, location, &count);

	return frames[0].function ? frames[0].function : locations_string_count(p) + location;
}

static void find_mapper(struct process_memory *p, const struct map_history *m,
			struct locations *names)
{
	auto_release(map_release) struct map place = { 0 };
	auto_free struct mapped_by *all = xcalloc(m->count, sizeof(*all));

	locations_resolve_all(names);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct map_row *row = &m->rows[i];
		uint64_t size = map_is_programs(row) ? size_at(m, row, p->most.at) : 0, position;
		uint32_t stack;
		struct mapped_by *by;

		if (!size)
			continue;
		stack = m->calls.rows[row->call].stack;
		if (map_number(&place, mapper_of(names, stack), &position))
			p->mapped_by_functions++;
		by = &all[position];
		by->maps++;
		by->bytes += size;
		if (size > by->largest) {
			by->largest = size;
			by->stack = stack;
		}
	}
	for (uint32_t i = 0; i < p->mapped_by_functions; i++)
		if (all[i].bytes > p->mapped_by.bytes)
			p->mapped_by = all[i];
}

bool process_memory_mapper(const struct view *v, uint32_t stack, struct buf *out)
{
	uint32_t location = locations_of_node(v->locations, stack);
	const struct location *at = locations_at(v->locations, location);
	unsigned count;
	const struct location_frame *f = locations_frames(v->locations, location, &count);

	if (!node_is_known(&v->model->tables.nodes, stack))
		return false;
	if (f->function)
		buf_text(out, locations_string(v->locations, f->function));
	else
		locations_unnamed(v->locations, at->module, at->address, out);
	return true;
}

void process_memory_init(struct process_memory *p, const struct view *v)
{
	const struct map_history *m = model_maps(v->model);
	const struct regions *seen = m->seen;

	memset(p, 0, sizeof(*p));
	p->sampled = seen->sample_count;
	follow_usages(p, m, p->sampled ? seen->samples[seen->sample_count - 1].ended : 0);
	if (p->most.mapped)
		find_mapper(p, m, v->locations);
}
