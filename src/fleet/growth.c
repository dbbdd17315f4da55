/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What grows.  See growth.h.
 *
 * The slope of a stack in a recording is that of the line of least squares through what it had
 * alive at the moments that are looked at, nothing where it has no row.  It is linear in what was
 * alive, so slopes of stacks add up to those of functions, and the server adds. */
#include "fleet/growth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/rows.h"
#include "fleet/sql.h"

#define ENOUGH 0.1 /* of what is alive, and it grows */

const char *const growth_classes[GROWTH_CLASSES] = { "growing", "steady", "shrinking" };

/* The moments of each recording, as the line wants them. */
static void write_moments(struct buf *sql, const struct fleet_range *r)
{
	buf_printf(sql,
		   "(SELECT recording, toFloat64(count()) AS n, sum(x) AS sx, n * sum(x * x) - sx "
		   "* sx AS d, toUInt32(min(bucket)) AS b0, toUInt32(max(bucket)) AS b1 FROM "
		   "(SELECT recording, bucket, toFloat64(toUInt32(bucket) - %" PRIu32 ") AS x FROM "
		   "curves WHERE %s) GROUP BY recording)",
		   r->first, r->some.data);
}

/* What each stack of each recording had; `key` is what rows are of. */
static void write_stacks(struct buf *sql, const struct fleet_range *r, bool by_stack)
{
	buf_printf(sql,
		   "(SELECT recording, stack, sum(toFloat64(toUInt32(bucket) - %" PRIu32 ") * "
		   "live_bytes) AS sxy, sum(live_bytes) AS sy, "
		   "sumIf(live_bytes, bucket = toDateTime(%" PRIu32 ")) AS after, "
		   "sumIf(live_count, bucket = toDateTime(%" PRIu32 ")) AS after_count, "
		   "sumIf(live_bytes, bucket = toDateTime(%" PRIu32 ")) AS before "
		   "FROM samples WHERE %s AND %s GROUP BY recording, stack)",
		   r->first, r->last, r->last, r->first, r->some.data, r->condition.data);
	if (!by_stack)
		buf_text(sql, " GLOBAL ANY INNER JOIN (SELECT hash AS stack, "
			      "cityHash64(responsible) AS who FROM stacks) USING stack");
}

/* One row for each recording and key; names are numbers until the end, which is much quicker. */
static void write_recordings(struct buf *sql, const struct fleet_range *r, bool by_stack)
{
	const char *key = by_stack ? "stack" : "who";

	buf_printf(sql,
		   "(SELECT recording, %s AS key, after, after_count, before, b0, b1, if(d > 0, (n "
		   "* sxy - sx * sy) / d, 0) * (b1 - b0) AS grown FROM (SELECT recording, %s, "
		   "sum(sxy) AS sxy, sum(sy) AS sy, sum(after) AS after, sum(after_count) AS "
		   "after_count, sum(before) AS before FROM ",
		   key, key);
	write_stacks(sql, r, by_stack);
	buf_printf(sql, " GROUP BY recording, %s) GLOBAL ANY INNER JOIN ", key);
	write_moments(sql, r);
	buf_text(sql, " USING recording)");
}

static void write_growth(struct buf *sql, const struct fleet_range *r,
			 const struct fleet_growth_options *o)
{
	if (!o->by_stack)
		buf_text(sql, "SELECT responsible, begun, live, live_blocks, n, more, hosts, "
			      "services, grown_bytes, growth FROM (");
	buf_printf(sql,
		   "SELECT key%s, sum(before) AS begun, sum(after) AS live, sum(after_count) AS "
		   "live_blocks, count() AS n, countIf(grown > 0) AS more, uniqExact(host) AS "
		   "hosts, uniqExact(service) AS services, sum(grown) AS grown_bytes, "
		   "grown_bytes / greatest(max(b1) - min(b0), %" PRIu32 ") AS growth FROM ",
		   o->by_stack ? "" : " AS who", r->step);
	write_recordings(sql, r, o->by_stack);
	fleet_join_recordings(sql, "cityHash64(host) AS host, cityHash64(service) AS service");
	buf_text(sql, " GROUP BY key");
	if (!o->by_stack)
		buf_text(sql, ") GLOBAL ANY INNER JOIN (SELECT cityHash64(responsible) AS who, "
			      "responsible FROM stacks GROUP BY who, responsible) USING who");
	if (!o->search || !*o->search)
		return;
	buf_text(sql, o->by_stack ? " HAVING key GLOBAL IN (SELECT hash FROM stacks WHERE "
				    "arrayExists(x -> positionCaseInsensitiveUTF8(x, "
				  : " WHERE positionCaseInsensitiveUTF8(responsible, ");
	sql_text(sql, o->search);
	buf_text(sql, o->by_stack ? ") > 0, functions))" : ") > 0");
}

static int bad_answer(struct err *err)
{
	return err_set(err, -EBADMSG, "the server's answer is not what was asked for");
}

static int ask_rows(const struct fleet_range *r, const char *sql, struct buf *out,
		    struct rows *ret_rows, struct err *err)
{
	int error = fleet_ask(r->fleet, sql, out, err);

	*ret_rows = (struct rows){ (unsigned char *)out->data,
				   (unsigned char *)out->data + out->size, false };
	return error;
}

static enum growth_class class_of(const struct fleet_growing *row)
{
	double most = (double)MAX(row->live_bytes, row->before_bytes);

	if (row->grown > ENOUGH * most && row->growing * 2 > row->recordings)
		return GROWTH_GROWING;
	return row->grown < -ENOUGH * most && row->growing * 2 < row->recordings ? GROWTH_SHRINKING
										 : GROWTH_STEADY;
}

#define HASH 16

/* A key of a stack is its hash: kept as it is, in the texts. */
static size_t take_key(struct rows *rows, bool by_stack, struct buf *texts)
{
	const unsigned char *hash;
	size_t at = texts->size;

	if (!by_stack)
		return rows_take_text(rows, texts);
	hash = rows_take_bytes(rows, HASH);
	if (hash)
		buf_add(texts, hash, HASH);
	return at;
}

static int read_growth(struct fleet_growths *g, const struct buf *answer, bool by_stack,
		       struct err *err)
{
	struct rows r = { (unsigned char *)answer->data,
			  (unsigned char *)answer->data + answer->size, false };

	while (rows_more(&r)) {
		struct fleet_growing *row = xpush(g->rows, g->count, g->room);

		*row = (struct fleet_growing){
			.name = (const char *)(uintptr_t)take_key(&r, by_stack, &g->texts),
			.stack = "",
		};
		row->before_bytes = rows_take(&r, 8);
		row->live_bytes = rows_take(&r, 8);
		row->live_count = rows_take(&r, 8);
		row->recordings = rows_take(&r, 8);
		row->growing = rows_take(&r, 8);
		row->hosts = rows_take(&r, 8);
		row->services = rows_take(&r, 8);
		row->grown = rows_take_real(&r);
		row->growth = rows_take_real(&r);
		row->class = class_of(row);
	}
	return r.bad ? bad_answer(err) : 0;
}

struct growth_order {
	const char *by;
	bool by_stack, descending;
};

static int compare_growing(const void *a, const void *b, void *order)
{
	const struct fleet_growing *x = a, *y = b;
	const struct growth_order *o = order;
	int way = !strcmp(o->by, "live")	 ? COMPARE(x->live_bytes, y->live_bytes)
		  : !strcmp(o->by, "before")	 ? COMPARE(x->before_bytes, y->before_bytes)
		  : !strcmp(o->by, "recordings") ? COMPARE(x->recordings, y->recordings)
		  : !strcmp(o->by, "growth")	 ? COMPARE(x->growth, y->growth)
						 : 0;

	if (way)
		return o->descending ? -way : way;
	/* Of what grows alike, as most does not, the largest comes first. */
	way = strcmp(o->by, "name") != 0 ? COMPARE(y->live_bytes, x->live_bytes)
						   ?: COMPARE(y->before_bytes, x->before_bytes)
					 : 0;
	if (way)
		return way;
	way = o->by_stack ? memcmp(x->name, y->name, HASH) : strcmp(x->name, y->name);
	return o->descending && !strcmp(o->by, "name") ? -way : way;
}

/* What grew in all, and the rows of the page. */
static void take_page(struct fleet_growths *g, const struct fleet_growth_options *o)
{
	struct growth_order order = { o->sort, o->by_stack, o->descending };
	size_t skip;

	g->total = g->count;
	for (size_t i = 0; i < g->count; i++)
		g->grown += MAX(g->rows[i].grown, 0);
	if (g->count)
		qsort_r(g->rows, g->count, sizeof(*g->rows), compare_growing, &order);
	skip = MIN(o->skip, g->count);
	g->count = MIN(o->count, g->count - skip);
	if (skip)
		memmove(g->rows, g->rows + skip, g->count * sizeof(*g->rows));
	for (size_t i = 0; i < g->count; i++) {
		struct fleet_growing *row = &g->rows[i];

		row->share = g->grown > 0 && row->grown > 0 ? row->grown / g->grown : 0;
	}
}

/* "unhex('…'), …" of stacks, or texts. */
static void write_keys(struct buf *sql, const struct fleet_growths *g, bool by_stack)
{
	for (size_t i = 0; i < g->count; i++) {
		buf_text(sql, i ? ", " : "");
		if (!by_stack) {
			sql_text(sql, g->rows[i].name);
			continue;
		}
		buf_text(sql, "toFixedString(unhex('");
		buf_hex(sql, g->rows[i].name, HASH);
		buf_text(sql, "'), 16)");
	}
}

static size_t row_of(const struct fleet_growths *g, const char *key, bool by_stack)
{
	size_t i = 0;

	while (i < g->count && (by_stack ? memcmp(g->rows[i].name, key, HASH) != 0
					 : strcmp(g->rows[i].name, key) != 0))
		i++;
	return i;
}

static int read_sparks(struct fleet_growths *g, const struct fleet_range *r,
		       const struct fleet_growth_options *o, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 }, key = { 0 };
	struct rows rows;
	int error;

	g->points = o->points;
	g->sparks = xcalloc((size_t)g->points * g->count + 1, sizeof(*g->sparks));
	for (size_t i = 0; i < g->count; i++)
		g->rows[i].spark = g->sparks + i * g->points;
	buf_printf(&sql,
		   "SELECT %s, toUInt32(bucket), sum(live_bytes) FROM (SELECT stack, bucket, "
		   "sum(live_bytes) AS live_bytes FROM samples WHERE %s AND %s AND stack ",
		   o->by_stack ? "stack" : "responsible", r->some.data, r->condition.data);
	buf_printf(&sql, "%sIN (", o->by_stack ? "" : "GLOBAL ");
	if (!o->by_stack)
		buf_text(&sql, "SELECT hash FROM stacks WHERE responsible IN (");
	write_keys(&sql, g, o->by_stack);
	buf_text(&sql, o->by_stack ? ") GROUP BY stack, bucket)"
				   : ")) GROUP BY stack, bucket) GLOBAL ANY INNER JOIN (SELECT "
				     "hash AS stack, responsible FROM stacks) USING stack");
	buf_printf(&sql, " GROUP BY %s, bucket FORMAT RowBinary",
		   o->by_stack ? "stack" : "responsible");
	error = ask_rows(r, sql.data, &out, &rows, err);
	while (!error && rows_more(&rows)) {
		uint64_t bytes, *to;
		uint32_t bucket;
		size_t i;

		buf_clear(&key);
		take_key(&rows, o->by_stack, &key);
		bucket = (uint32_t)rows_take(&rows, 4);
		bytes = rows_take(&rows, 8);
		i = rows.bad ? g->count : row_of(g, key.data, o->by_stack);
		if (i == g->count || bucket > r->last || bucket < r->first)
			continue;
		to = &g->sparks[i * g->points + fleet_range_point(r, bucket, g->points)];
		*to = MAX(*to, bytes);
	}
	fleet_range_fill(r, g->sparks, g->count, g->points);
	return error ? error : rows.bad ? bad_answer(err) : 0;
}

/* The names of stacks: their responsible function, and all functions. */
static int read_stacks(struct fleet_growths *g, const struct fleet_range *r, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 }, texts = { 0 }, key = { 0 };
	auto_free size_t *names = xcalloc(2 * g->count + 1, sizeof(*names));
	struct rows rows;
	int error;

	buf_add(&texts, "", 1);
	buf_text(&sql, "SELECT hash, responsible, arrayStringConcat(functions, '\\n') FROM stacks "
		       "WHERE hash IN (");
	write_keys(&sql, g, true);
	buf_text(&sql, ") FORMAT RowBinary");
	error = ask_rows(r, sql.data, &out, &rows, err);
	while (!error && rows_more(&rows)) {
		size_t name, stack, i;

		buf_clear(&key);
		take_key(&rows, true, &key);
		name = rows_take_text(&rows, &texts);
		stack = rows_take_text(&rows, &texts);
		i = rows.bad ? g->count : row_of(g, key.data, true);
		if (i == g->count)
			continue;
		names[2 * i] = name;
		names[2 * i + 1] = stack;
	}
	buf_release(&g->texts);
	g->texts = texts;
	texts = (struct buf){ 0 };
	for (size_t i = 0; i < g->count; i++) {
		g->rows[i].name = g->texts.data + names[2 * i];
		g->rows[i].stack = g->texts.data + names[2 * i + 1];
	}
	return error ? error : rows.bad ? bad_answer(err) : 0;
}

int fleet_growths_find(struct fleet_growths *g, const struct fleet_range *r,
		       const struct fleet_growth_options *o, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 };
	int error;

	*g = (struct fleet_growths){ 0 };
	if (!r->last)
		return 0;
	write_growth(&sql, r, o);
	buf_text(&sql, " FORMAT RowBinary");
	error = fleet_ask(r->fleet, sql.data, &out, err);
	if (!error)
		error = read_growth(g, &out, o->by_stack, err);
	for (size_t i = 0; i < g->count; i++)
		g->rows[i].name = g->texts.data + (uintptr_t)g->rows[i].name;
	take_page(g, o);
	if (!error && o->points && g->count)
		error = read_sparks(g, r, o, err);
	if (!error && o->by_stack && g->count)
		error = read_stacks(g, r, err);
	return error;
}

void fleet_growths_release(struct fleet_growths *g)
{
	free(g->rows);
	free(g->sparks);
	buf_release(&g->texts);
}
