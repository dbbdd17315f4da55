/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves of a fleet over time.  See groups.h.
 *
 * A point is some buckets: of what was alive the highest of them, of what was allocated and freed
 * their sum. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/groups.h"
#include "fleet/rows.h"
#include "fleet/sql.h"

#define COLUMNS 5

/* Sums of one bucket, then of one point. */
static void write_points(struct buf *sql, const struct fleet_trend *t, const struct fleet_range *r,
			 const char *key, const char *only)
{
	const char *group = key ? "key, " : "";

	buf_printf(sql,
		   "SELECT %stoUInt32(intDiv(toUInt32(bucket) - %" PRIu32 ", %" PRIu32
		   ")) AS point, "
		   "max(live), max(blocks), sum(allocated), sum(freed), toUInt64(max(n)) FROM ("
		   "SELECT %s%s%sbucket, sum(live_bytes) AS live, sum(live_count) AS blocks, "
		   "sum(allocated_bytes) AS allocated, sum(freed_bytes) AS freed, "
		   "%s AS n",
		   group, t->begin, t->width, key ? key : "", key ? " AS key" : "", key ? ", " : "",
		   r->stacks || key ? "uniqExact(recording)" : "count()");
	if (key) {
		buf_text(sql, " FROM (SELECT recording, bucket, live_bytes, live_count, "
			      "allocated_bytes, freed_bytes");
		fleet_range_from(r, sql);
		buf_char(sql, ')');
		fleet_join_recordings(sql, "id, service, host, build, release, command, labels, "
					   "day");
		buf_printf(sql, " WHERE key IN (%s)", only);
	} else {
		fleet_range_from(r, sql);
	}
	buf_printf(sql, " GROUP BY %sbucket) GROUP BY %spoint FORMAT RowBinary", group, group);
}

static struct fleet_curve *curve_named(struct fleet_trend *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++)
		if (name ? t->curves[i].name && !strcmp(t->curves[i].name, name)
			 : !t->curves[i].name)
			return &t->curves[i];
	return NULL;
}

static int read_points(struct fleet_trend *t, const struct buf *answer, bool named, struct err *err)
{
	struct rows r = { (unsigned char *)answer->data,
			  (unsigned char *)answer->data + answer->size, false };
	auto_buf struct buf name = { 0 };

	while (rows_more(&r)) {
		struct fleet_curve *c;
		uint64_t at, values[COLUMNS];

		buf_clear(&name);
		if (named)
			rows_take_text(&r, &name);
		at = rows_take(&r, 4);
		for (unsigned k = 0; k < COLUMNS; k++)
			values[k] = rows_take(&r, 8);
		c = curve_named(t, named ? name.data : NULL);
		if (r.bad || !c || at >= t->points)
			continue;
		c->live_bytes[at] = values[0];
		c->live_count[at] = values[1];
		c->allocated_bytes[at] = values[2];
		c->freed_bytes[at] = values[3];
		c->recordings[at] = values[4];
	}
	return r.bad ? err_set(err, -EBADMSG, "the server's answer is not what was asked for") : 0;
}

static int ask_points(struct fleet_trend *t, const struct fleet_range *r, const char *key,
		      const char *only, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 };
	int error;

	write_points(&sql, t, r, key, only);
	error = fleet_ask(r->fleet, sql.data, &out, err);
	return error ? error : read_points(t, &out, key != NULL, err);
}

/* Room for the whole and for each name, which are in t->texts. */
static void make_curves(struct fleet_trend *t, const struct fleet_groups *g)
{
	size_t count = 1 + g->count;
	uint64_t *at;

	t->numbers = xcalloc(count * COLUMNS * t->points + 1, sizeof(*t->numbers));
	at = t->numbers;
	for (size_t i = 0; i < count; i++) {
		struct fleet_curve *c = xpush(t->curves, t->count, t->room);
		uint64_t **columns[COLUMNS] = { &c->live_bytes, &c->live_count, &c->allocated_bytes,
						&c->freed_bytes, &c->recordings };

		*c = (struct fleet_curve){ .name = i ? g->rows[i - 1].name : NULL };
		for (unsigned k = 0; k < COLUMNS; k++, at += t->points)
			*columns[k] = at;
	}
}

int fleet_trend_find(struct fleet_trend *t, const struct fleet_range *r, uint32_t points,
		     const char *by, const char *label, uint32_t count, struct err *err)
{
	struct fleet_grouping how = {
		.by = by, .label = label, .sort = "live", .descending = true, .count = count
	};
	auto_buf struct buf only = { 0 }, key = { 0 };
	struct fleet_groups g = { 0 };
	uint64_t buckets;
	int error = 0;

	*t = (struct fleet_trend){ 0 };
	if (!r->last)
		return 0;
	buckets = ((uint64_t)r->last - r->first) / r->step + 1;
	points = points > 0 && points < FLEET_POINTS_MAX ? points : FLEET_POINTS_MAX;
	t->width = (uint32_t)((buckets + points - 1) / points) * r->step;
	if (r->stacks && t->width < r->every)
		t->width = r->every;
	t->begin = r->first;
	t->points = (uint32_t)(((uint64_t)r->last - r->first) / t->width) + 1;
	if (by)
		error = fleet_groups_find(&g, r, &how, err);
	t->texts = g.texts;
	g.texts = (struct buf){ 0 };
	make_curves(t, &g);
	if (!error)
		error = ask_points(t, r, NULL, NULL, err);
	for (size_t i = 0; i < g.count; i++) {
		buf_text(&only, i ? ", " : "");
		sql_text(&only, g.rows[i].name);
	}
	if (!error && g.count) {
		fleet_key(&key, by, label);
		error = ask_points(t, r, key.data, only.data, err);
	}
	fleet_groups_release(&g);
	return error;
}

void fleet_trend_release(struct fleet_trend *t)
{
	free(t->curves);
	free(t->numbers);
	buf_release(&t->texts);
}
