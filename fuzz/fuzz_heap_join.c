/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A dump and statistics of any bytes, one behind the other with a NUL between them, joined:
 * whatever the numbers are, nothing is charged twice and every index leads inside.  The same dump
 * twice is a series. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "heap/dump_series.h"
#include "heap/join.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"

static void check(const struct join *j, const struct profile *p)
{
	size_t parts = 0;

	for (size_t i = 0; i < j->part_count; i++) {
		const struct join_part *part = &j->parts[i];

		if (part->stack >= p->stack_count || part->class >= j->class_count ||
		    j->by_class[i] >= j->part_count || isnan(part->unused) || part->unused < 0)
			abort();
	}
	for (size_t i = 0; i < j->class_count; i++) {
		const struct join_class *c = &j->classes[i];
		double most = c->unused > 0 ? (double)c->unused : 0;

		parts += c->part_count;
		if (c->first + c->part_count > j->part_count || c->charged > most * 1.000001 + 1)
			abort();
	}
	for (size_t i = 0; i < j->stack_count; i++)
		if (j->stacks[i].first + j->stacks[i].part_count > j->part_count)
			abort();
	if (parts != j->part_count)
		abort();
}

static void join(const struct profile *p, const void *text, size_t size)
{
	struct err err = { .text = "" };
	struct snapshots r;
	int n;

	snapshots_memory(&r, text, size);
	while ((n = snapshots_next(&r, &err))) {
		const struct stats_arena *whole = n > 0 ? stats_merge(&r.stats) : NULL;
		struct join j;

		if (!whole)
			continue;
		if (!join_compute(&j, p, &r.stats, whole, &err))
			check(&j, p);
		join_release(&j);
	}
	snapshots_close(&r);
}

static void series(const struct profile *p)
{
	size_t sample_ends[] = { p->sample_count / 2, p->sample_count };

	for (int kind = DUMP_SERIES_FLAT; kind <= DUMP_SERIES_STACKS; kind++) {
		struct dump_series s;

		dump_series_compute(&s, p, NULL, sample_ends, 2, (enum dump_series_kind)kind,
				    HEAP_INUSE_SPACE);
		for (size_t i = 0; i < s.row_count; i++)
			if (s.rows[i].change != 0 && fabs(s.rows[i].change) < 1e300)
				abort();
		dump_series_release(&s);
	}
}

FUZZ(heap_join, data, size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t first = end ? (size_t)(end - data) : size;
	struct profile_options how = { .thread = PROFILE_ALL_THREADS };
	struct heap_locations_options where = { 0 };
	struct err err = { .text = "" };
	struct profile p;
	struct dump d;

	profile_init(&p, &how, &where);
	dump_read(&d, data, first, &err);
	d.map_count = 0; /* files of this machine are no input */
	profile_add(&p, &d, 1);
	profile_add(&p, &d, 1);
	dump_release(&d);
	if (profile_finish(&p, &err))
		abort();
	series(&p);
	if (end)
		join(&p, end + 1, size - first - 1);
	profile_release(&p);
	return 0;
}
