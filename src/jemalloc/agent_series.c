/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves of a running jemalloc.  See agent_series.h. */
#include "jemalloc/agent_series.h"

#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "jemalloc/sampled.h"
#include "jemalloc/stats_write.h"

static const char *const agent_curves[] = { "allocated", "active",   "metadata", "resident",
					    "mapped",	 "retained", "dirty",	 "muzzy" };

static const enum stats_total totals[] = {
	[AGENT_SERIES_ALLOCATED] = STATS_TOTAL_ALLOCATED,
	[AGENT_SERIES_ACTIVE] = STATS_TOTAL_ACTIVE,
	[AGENT_SERIES_METADATA] = STATS_TOTAL_METADATA,
	[AGENT_SERIES_RESIDENT] = STATS_TOTAL_RESIDENT,
	[AGENT_SERIES_MAPPED] = STATS_TOTAL_MAPPED,
	[AGENT_SERIES_RETAINED] = STATS_TOTAL_RETAINED,
};

void agent_series_release(struct agent_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->points[s->first + i].arenas);
	free(s->points);
	*s = (struct agent_series){ 0 };
}

static void drop_oldest(struct agent_series *s)
{
	struct agent_point *p = &s->points[s->first++];

	s->bytes -= p->arena_count * sizeof(*p->arenas);
	free(p->arenas);
	s->count--;
}

ORDER(by_id, struct agent_arena, RISING(id))

static uint64_t in_bytes(uint64_t pages, uint64_t page)
{
	uint64_t bytes;

	if (pages >= STATS_NONE || page >= STATS_NONE ||
	    __builtin_mul_overflow(pages, page, &bytes))
		return STATS_NONE;
	return bytes;
}

static void add_to(uint64_t *sum, uint64_t value)
{
	if (value < STATS_NONE && *sum < STATS_NONE - value)
		*sum += value;
	else if (value < STATS_NONE && *sum == STATS_NONE)
		*sum = value;
}

static void take_arenas(struct agent_point *p, const struct stats *said)
{
	uint64_t page = said->shape[STATS_SHAPE_PAGE];

	p->arenas = xcalloc(said->arena_count + 1, sizeof(*p->arenas));
	for (size_t i = 0; i < said->arena_count; i++) {
		const struct stats_arena *a = &said->arenas[i];
		struct agent_arena *to = &p->arenas[p->arena_count];

		if (a->id < 0 || a->id > UINT32_MAX)
			continue;
		*to = (struct agent_arena){ (uint32_t)a->id,
					    in_bytes(a->value[STATS_ARENA_PDIRTY], page),
					    in_bytes(a->value[STATS_ARENA_PMUZZY], page) };
		add_to(&p->value[AGENT_SERIES_DIRTY], to->dirty);
		add_to(&p->value[AGENT_SERIES_MUZZY], to->muzzy);
		p->arena_count++;
	}
	SORT(p->arenas, p->arena_count, by_id);
}

const struct agent_point *agent_series_add(struct agent_series *s, const struct stats *said,
					   int64_t time_ms)
{
	struct agent_point *p;
	size_t bytes;

	/* The points move to the front only when as many as there are were dropped. */
	if (s->first && s->first >= s->count) {
		memmove(s->points, s->points + s->first, s->count * sizeof(*s->points));
		s->first = 0;
	}
	s->points = xgrow(s->points, s->first + s->count, &s->room, sizeof(*s->points));
	p = &s->points[s->first + s->count++];
	*p = (struct agent_point){ .number = ++s->number, .time_ms = time_ms };
	for (unsigned i = 0; i < AGENT_SERIES_CURVES; i++)
		p->value[i] = i < AGENT_SERIES_DIRTY ? said->total[totals[i]] : STATS_NONE;
	take_arenas(p, said);
	bytes = p->arena_count * sizeof(*p->arenas);
	s->bytes += bytes;
	while (s->count > 1 && (s->count > AGENT_SERIES_POINTS || s->bytes > AGENT_SERIES_BYTES))
		drop_oldest(s);
	return &s->points[s->first + s->count - 1];
}

static void write_value(struct json *j, uint64_t value)
{
	json_number_if(j, NULL, value < STATS_NONE, value);
}

static const struct agent_arena *arena_of(const struct agent_point *p, uint32_t id)
{
	struct agent_arena key = { .id = id };

	return p->arena_count ? bsearch(&key, p->arenas, p->arena_count, sizeof(key), by_id) : NULL;
}

/* One arena's two curves; null where it was not there. */
static void write_arena(struct json *j, const struct agent_point *from, size_t count, uint32_t id)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", id);
	json_object(j, name);
	for (unsigned muzzy = 0; muzzy < 2; muzzy++) {
		JSON_EACH(j, muzzy ? "muzzy" : "dirty", i, count) {
			const struct agent_arena *a = arena_of(&from[i], id);

			write_value(j, !a ? STATS_NONE : muzzy ? a->muzzy : a->dirty);
		}
	}
	json_end_object(j);
}

/* All arenas that any of these points has, in order. */
static void write_arenas(struct json *j, const struct agent_point *from, size_t count)
{
	json_object(j, "arenas");
	for (uint64_t least = 0;;) {
		uint64_t next = UINT64_MAX;

		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < from[i].arena_count; k++)
				if (from[i].arenas[k].id >= least) {
					next = MIN(next, from[i].arenas[k].id);
					break;
				}
		if (next == UINT64_MAX)
			break;
		write_arena(j, from, count, (uint32_t)next);
		least = next + 1;
	}
	json_end_object(j);
}

void agent_series_write(struct json *j, const struct agent_series *s, uint64_t from)
{
	const struct agent_point *points = s->points ? s->points + s->first : NULL;
	size_t count = s->count;

	while (count && points->number < from) {
		points++;
		count--;
	}
	json_number(j, "first", count ? points->number : s->number + 1);
	json_number(j, "next", s->number + 1);
	JSON_EACH(j, "time_ms", i, count)
		json_number(j, NULL, (uint64_t)points[i].time_ms);
	for (unsigned c = 0; c < AGENT_SERIES_CURVES; c++) {
		JSON_EACH(j, agent_curves[c], i, count)
			write_value(j, points[i].value[c]);
	}
	write_arenas(j, points, count);
}

static void write_prof(struct json *j, const struct stats *s)
{
	static const char *const switches[] = { "active", "thread_active_init", "gdump" };
	const char *lg = stats_setting(s, "prof.lg_sample");

	json_object(j, "prof");
	json_bool(j, "enabled", stats_setting_is(s, "opt.prof", "true"));
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		auto_free char *name = xasprintf("prof.%s", switches[i]);
		const char *value = stats_setting(s, name);

		if (value)
			json_bool(j, switches[i], !strcmp(value, "true"));
	}
	if (lg)
		json_number(j, "lg_sample", strtoull(lg, NULL, 10));
	json_bool(j, "accum", stats_setting_is(s, "opt.prof_accum", "true"));
	json_end_object(j);
}

static void write_all_arenas(struct json *j, const struct stats *s)
{
	char room[24];

	JSON_EACH(j, "arenas", i, s->arena_count) {
		if (s->arenas[i].id < 0)
			continue;
		json_object(j, NULL);
		json_text(j, "arena", stats_arena_name(s->arenas[i].id, room));
		stats_write_fields(j, stats_arena_fields, s->arenas[i].value);
		json_end_object(j);
	}
}

/* What the heap profiler itself has of what is allocated and of what is active besides: bytes. What
 * is asked for each second has no bins, so that is an estimate, and of versions that have samples
 * elsewhere nothing. */
static uint64_t profiler_bytes(const struct stats *s)
{
	bool padded = stats_setting_is(s, "opt.cache_oblivious", "true");
	uint64_t sum = 0;

	for (size_t i = 0; i < s->arena_count; i++) {
		struct sampled sampled;

		if (s->arenas[i].id < 0)
			continue;
		sampled_make(&sampled, s, &s->arenas[i], padded);
		sum += sampled.allocated + sampled.pages;
	}
	return sum;
}

void agent_series_write_point(struct json *j, const struct agent_point *p, const struct stats *s)
{
	json_text(j, "version", s->version);
	json_number(j, "number", p->number);
	json_number(j, "time_ms", (uint64_t)p->time_ms);
	json_object(j, "stats");
	stats_write_fields(j, stats_total_fields, s->total);
	for (unsigned i = AGENT_SERIES_DIRTY; i < AGENT_SERIES_CURVES; i++)
		if (p->value[i] < STATS_NONE)
			json_number(j, agent_curves[i], p->value[i]);
	json_number(j, "profiler", profiler_bytes(s));
	json_end_object(j);
	json_object(j, "shape");
	stats_write_fields(j, stats_shape_fields, s->shape);
	json_end_object(j);
	write_prof(j, s);
	write_all_arenas(j, s);
}
