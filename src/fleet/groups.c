/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups of recordings.  See groups.h.
 *
 * Growth is found in each recording by itself, so that processes which come and go are none: the
 * line of least squares through what was alive, in bytes per second.  A group's is the sum of
 * these, each weighted with how long it was seen, over the time that the group was seen: three
 * hosts that run all the time count three times, one that was started anew every day counts once.
 */
#include "fleet/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/rows.h"
#include "fleet/sql.h"

void fleet_write_ends(struct buf *sql, const struct fleet_range *r)
{
	buf_printf(sql,
		   "(SELECT recording, sumIf(bytes, bucket = toDateTime(%" PRIu32 ")) AS after, "
		   "sumIf(blocks, bucket = toDateTime(%" PRIu32 ")) AS after_count, "
		   "sumIf(bytes, bucket = toDateTime(%" PRIu32 ")) AS before, "
		   "toUInt32(min(bucket)) AS b0, toUInt32(max(bucket)) AS b1, "
		   "count() * sum(x * x) - sum(x) * sum(x) AS d, "
		   "if(d > 0, (count() * sum(x * bytes) - sum(x) * sum(bytes)) / d, 0) * (b1 - b0) "
		   "AS grown FROM ",
		   r->last, r->last, r->first);
	/* `curves` has one row for each bucket of a recording, `samples` one for each stack. */
	buf_printf(sql,
		   "(SELECT recording, bucket, toFloat64(toUInt32(bucket) - %" PRIu32 ") AS x, "
		   "%s AS bytes, %s AS blocks",
		   r->first, r->stacks ? "sum(live_bytes)" : "live_bytes",
		   r->stacks ? "sum(live_count)" : "live_count");
	fleet_range_from(r, sql);
	buf_printf(sql, "%s) GROUP BY recording)", r->stacks ? " GROUP BY recording, bucket" : "");
}

static void write_groups(struct buf *sql, const struct fleet_range *r,
			 const struct fleet_grouping *how)
{
	buf_text(sql, "SELECT ");
	fleet_key(sql, how->by, how->label);
	buf_printf(sql,
		   " AS key, count() AS n, uniqExact(host) AS hosts, uniqExact(service) AS "
		   "services, uniqExact(build) AS builds, toUInt32(min(started)) AS started, "
		   "toUInt32(max(ended)) AS ended, sum(allocated_bytes) AS allocated, "
		   "sum(leaked_bytes) AS leaked, sum(peak_bytes) AS peak, sum(after) AS live, "
		   "sum(after_count) AS live_blocks, sum(before) AS begun, "
		   "sum(grown) / greatest(max(b1) - min(b0), %" PRIu32
		   ") AS growth, sum(grown) AS grown_bytes, min(b0) AS begin, max(b1) AS end FROM ",
		   r->step);
	fleet_write_ends(sql, r);
	fleet_join_recordings(sql, "id, service, host, build, release, command, labels, day, "
				   "started, ended, allocated_bytes, leaked_bytes, peak_bytes");
	buf_text(sql, " GROUP BY key");
	if (how->search && *how->search) {
		buf_text(sql, " HAVING positionCaseInsensitiveUTF8(key, ");
		sql_text(sql, how->search);
		buf_text(sql, ") > 0");
	}
}

static int bad_answer(struct err *err)
{
	return err_set(err, -EBADMSG, "the server's answer is not what was asked for");
}

/* Texts move while they are gathered: until then a name is where it is. */
static void place_names(struct fleet_groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		g->rows[i].name = g->texts.data + (uintptr_t)g->rows[i].name;
}

static int read_groups(struct fleet_groups *g, const struct buf *answer, uint32_t step,
		       struct err *err)
{
	uint64_t begin = UINT32_MAX, end = 0, first, last;
	double grown = 0;
	struct rows r = { (unsigned char *)answer->data,
			  (unsigned char *)answer->data + answer->size, false };

	while (rows_more(&r)) {
		struct fleet_group *row = xpush(g->rows, g->count, g->room);

		*row = (struct fleet_group){
			.name = (const char *)(uintptr_t)rows_take_text(&r, &g->texts),
		};
		row->recordings = rows_take(&r, 8);
		row->hosts = rows_take(&r, 8);
		row->services = rows_take(&r, 8);
		row->builds = rows_take(&r, 8);
		row->started = (uint32_t)rows_take(&r, 4);
		row->ended = (uint32_t)rows_take(&r, 4);
		row->allocated_bytes = rows_take(&r, 8);
		row->leaked_bytes = rows_take(&r, 8);
		row->peak_bytes = rows_take(&r, 8);
		row->live_bytes = rows_take(&r, 8);
		row->live_count = rows_take(&r, 8);
		row->before_bytes = rows_take(&r, 8);
		row->growth = rows_take_real(&r);
		grown += rows_take_real(&r);
		first = rows_take(&r, 4);
		last = rows_take(&r, 4);
		begin = MIN(begin, first);
		end = MAX(end, last);
		g->recordings += row->recordings;
		g->live_bytes += row->live_bytes;
		g->live_count += row->live_count;
	}
	g->growth = end > begin ? grown / (double)(end - begin) : grown / step;
	place_names(g);
	return r.bad ? bad_answer(err) : 0;
}

struct group_order {
	const char *by;
	bool descending;
};

static int compare_groups(const void *a, const void *b, void *order)
{
	const struct fleet_group *x = a, *y = b;
	const struct group_order *o = order;
	int way = 0;

#define BY(word, field)                                                                            \
	if (!strcmp(o->by, word))                                                                  \
		way = COMPARE(x->field, y->field);
	BY("live", live_bytes)
	BY("growth", growth)
	BY("recordings", recordings)
	BY("hosts", hosts)
	BY("services", services)
	BY("peak", peak_bytes)
	BY("leaked", leaked_bytes)
	BY("allocated", allocated_bytes)
	BY("started", started)
	BY("ended", ended)
#undef BY
	if (way)
		return o->descending ? -way : way;
	/* Those of which nothing is alive any more: the largest come first. */
	if (strcmp(o->by, "name") != 0)
		way = COMPARE(y->live_bytes, x->live_bytes)
			      ?: COMPARE(y->peak_bytes, x->peak_bytes);
	if (way)
		return way;
	way = strcmp(x->name, y->name);
	return o->descending && !strcmp(o->by, "name") ? -way : way;
}

/* The rows of the page: the server has sent all, since their sums are wanted. */
static void take_page(struct fleet_groups *g, const struct fleet_grouping *how)
{
	struct group_order order = { how->sort, how->descending };
	size_t skip;

	g->total = g->count;
	if (g->count)
		qsort_r(g->rows, g->count, sizeof(*g->rows), compare_groups, &order);
	skip = MIN(how->skip, g->count);
	g->count = MIN(how->count, g->count - skip);
	if (skip)
		memmove(g->rows, g->rows + skip, g->count * sizeof(*g->rows));
}

static size_t group_named(const struct fleet_groups *g, const char *name)
{
	size_t i = 0;

	while (i < g->count && strcmp(g->rows[i].name, name) != 0)
		i++;
	return i;
}

/* The highest of each point's buckets, of the rows that are shown. */
static int read_sparks(struct fleet_groups *g, const struct fleet_range *r,
		       const struct fleet_grouping *how, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 }, name = { 0 }, names = { 0 }, key = { 0 };
	struct rows rows;
	int error;

	g->points = how->points;
	g->sparks = xcalloc((size_t)g->points * g->count + 1, sizeof(*g->sparks));
	for (size_t i = 0; i < g->count; i++)
		g->rows[i].spark = g->sparks + i * g->points;
	buf_text(&sql, "SELECT ");
	fleet_key(&sql, how->by, how->label);
	buf_text(&sql, " AS key, toUInt32(bucket), sum(live_bytes) FROM (SELECT recording, bucket, "
		       "sum(live_bytes) AS live_bytes");
	fleet_range_from(r, &sql);
	for (size_t i = 0; i < g->count; i++) {
		buf_text(&names, i ? ", " : "");
		sql_text(&names, g->rows[i].name);
	}
	fleet_key(&key, how->by, how->label);
	buf_printf(&sql,
		   " AND %s AND recording GLOBAL IN (SELECT recording FROM recordings WHERE %s IN "
		   "(%s)) GROUP BY recording, bucket)",
		   r->some.data, key.data, names.data);
	fleet_join_recordings(&sql, "id, service, host, build, release, command, labels, day");
	buf_printf(&sql, " WHERE key IN (%s) GROUP BY key, bucket FORMAT RowBinary", names.data);
	error = g->count ? fleet_ask(r->fleet, sql.data, &out, err) : 0;
	rows = (struct rows){ (unsigned char *)out.data, (unsigned char *)out.data + out.size,
			      false };
	while (!error && rows_more(&rows)) {
		uint32_t bucket;
		uint64_t bytes, *to;
		size_t i;

		buf_clear(&name);
		rows_take_text(&rows, &name);
		bucket = (uint32_t)rows_take(&rows, 4);
		bytes = rows_take(&rows, 8);
		i = group_named(g, name.data);
		if (rows.bad || i == g->count || bucket > r->last)
			continue;
		to = &g->sparks[i * g->points + fleet_range_point(r, bucket, g->points)];
		*to = MAX(*to, bytes);
	}
	fleet_range_fill(r, g->sparks, g->count, g->points);
	return error ? error : rows.bad ? bad_answer(err) : 0;
}

int fleet_groups_find(struct fleet_groups *g, const struct fleet_range *r,
		      const struct fleet_grouping *how, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 };
	int error;

	*g = (struct fleet_groups){ 0 };
	if (!r->last)
		return 0;
	write_groups(&sql, r, how);
	buf_text(&sql, " FORMAT RowBinary");
	error = fleet_ask(r->fleet, sql.data, &out, err);
	if (!error)
		error = read_groups(g, &out, r->step, err);
	if (error)
		return error;
	take_page(g, how);
	return how->points ? read_sparks(g, r, how, err) : 0;
}

void fleet_groups_release(struct fleet_groups *g)
{
	free(g->rows);
	free(g->sparks);
	buf_release(&g->texts);
}
