/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges of time.  See range.h.
 *
 * `curves` has one row for each recording and bucket, and is read whole; `samples` has one for each
 * stack too, some dozens of times as many, so of a long range some buckets stand for all. */
#include "fleet/range.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/rows.h"
#include "fleet/sql.h"

#define MOMENTS_ROWS 8000 /* of `curves` that are looked at with their stacks */

static void write_between(struct buf *out, const struct fleet_wanted *w, uint32_t step)
{
	buf_char(out, '1');
	if (w->since)
		buf_printf(out, " AND bucket >= toDateTime(%" PRIu64 ")", w->since / step * step);
	if (w->until)
		buf_printf(out, " AND bucket < toDateTime(%" PRIu64 ")", w->until);
}

/* First and last bucket, and how many rows `curves` has there. */
static int find_ends(struct fleet_range *r, const char *condition, const struct fleet_wanted *w,
		     uint64_t *ret_rows, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 };
	struct rows rows;
	int error;

	buf_text(&sql, "SELECT toUInt32(min(bucket)), toUInt32(max(bucket)), count() FROM curves "
		       "WHERE ");
	write_between(&sql, w, r->step);
	buf_printf(&sql, " AND %s FORMAT RowBinary", condition);
	error = fleet_ask(r->fleet, sql.data, &out, err);
	if (error)
		return error;
	rows = (struct rows){ (unsigned char *)out.data, (unsigned char *)out.data + out.size,
			      false };
	r->first = (uint32_t)rows_take(&rows, 4);
	r->last = (uint32_t)rows_take(&rows, 4);
	*ret_rows = rows_take(&rows, 8);
	if (rows.bad)
		return err_set(err, -EBADMSG, "the server's answer is not what was asked for");
	if (!*ret_rows)
		r->first = r->last = 0;
	return 0;
}

static void write_moments(struct fleet_range *r, uint64_t rows)
{
	uint64_t every = (rows + MOMENTS_ROWS - 1) / MOMENTS_ROWS;

	r->every = r->step * (uint32_t)(every ? every : 1);
	buf_printf(&r->within,
		   "(bucket >= toDateTime(%" PRIu32 ") AND bucket <= toDateTime(%" PRIu32 "))",
		   r->first, r->last);
	if (r->every == r->step) {
		buf_text(&r->some, r->within.data);
		return;
	}
	buf_text(&r->some, "bucket IN (");
	/* From the end; both ends are always among them. */
	buf_printf(&r->some, "toDateTime(%" PRIu32 ")", r->first);
	for (uint64_t at = r->last; at > r->first; at -= r->every) {
		buf_printf(&r->some, ", toDateTime(%" PRIu64 ")", at);
		if (at < r->every)
			break;
	}
	buf_char(&r->some, ')');
}

/* Programs that are asked at intervals have not all been asked in a bucket that is not over: it
 * would show some of them as all.  Whole recordings are there at once. */
static int leave_out_unfinished(struct fleet_range *r, struct err *err)
{
	auto_buf struct buf sql = { 0 };
	uint64_t now = (uint64_t)time(NULL), asked = 0;
	int error;

	if (r->last + r->step <= now || r->last == r->first)
		return 0;
	buf_printf(&sql,
		   "SELECT count() FROM recordings WHERE kind = 'heap' AND ended > started AND "
		   "ended >= toDateTime(%" PRIu64 ")",
		   now - MIN(now, 2 * r->step));
	error = fleet_ask_number(r->fleet, sql.data, &asked, err);
	if (asked)
		r->last -= r->step;
	return error;
}

int fleet_range_find(struct fleet_range *r, const struct fleet *f, const struct fleet_facts *facts,
		     const struct filter *filter, const struct fleet_wanted *wanted,
		     struct err *err)
{
	struct fleet_wanted w = *wanted;
	auto_buf struct buf of_curves = { 0 };
	uint64_t rows;
	int error;

	*r = (struct fleet_range){ .fleet = f,
				   .step = facts->step,
				   .everything = !w.since && !w.until && !w.last };
	error = sql_condition(&r->condition, filter, facts->step, err);
	if (error)
		return error;
	r->stacks = sql_condition_of_curves(&of_curves, filter, facts->step, err) == -ENOTSUP;
	if (r->stacks) {
		buf_clear(&of_curves);
		buf_char(&of_curves, '1');
	}
	error = find_ends(r, of_curves.data, &w, &rows, err);
	if (!error && w.last && r->last) {
		w.since = r->last + r->step > w.last ? r->last + r->step - w.last : 0;
		error = find_ends(r, of_curves.data, &w, &rows, err);
	}
	if (!error && !w.until)
		error = leave_out_unfinished(r, err);
	if (!error)
		write_moments(r, rows);
	return error;
}

void fleet_range_release(struct fleet_range *r)
{
	buf_release(&r->condition);
	buf_release(&r->within);
	buf_release(&r->some);
}

void fleet_range_from(const struct fleet_range *r, struct buf *out)
{
	buf_printf(out, " FROM %s WHERE %s AND %s", r->stacks ? "samples" : "curves",
		   r->stacks ? r->some.data : r->within.data, r->condition.data);
}

uint32_t fleet_range_point(const struct fleet_range *r, uint32_t bucket, uint32_t points)
{
	uint64_t span = (uint64_t)r->last - r->first + r->step;

	return bucket < r->first ? 0 : (uint32_t)((uint64_t)(bucket - r->first) * points / span);
}

void fleet_range_fill(const struct fleet_range *r, uint64_t *values, size_t rows, uint32_t points)
{
	auto_free bool *seen = xcalloc((size_t)points + 1, sizeof(*seen));

	seen[0] = true;
	for (uint64_t at = r->last; at > r->first; at -= r->every) {
		seen[fleet_range_point(r, (uint32_t)at, points)] = true;
		if (at < r->every)
			break;
	}
	for (size_t row = 0; row < rows; row++)
		for (uint32_t i = 1; i < points; i++)
			if (!seen[i])
				values[row * points + i] = values[row * points + i - 1];
}

bool fleet_key(struct buf *out, const char *word, const char *label)
{
	const char *column = sql_recording_column(word);

	if (column)
		buf_text(out, column);
	else if (!strcmp(word, "day"))
		buf_text(out, "toString(day)");
	else if (!strcmp(word, "label")) {
		auto_buf struct buf begin = { 0 };

		buf_printf(&begin, "%s=", label);
		buf_text(out, "substring(arrayFirst(x -> startsWith(x, ");
		sql_text(out, begin.data);
		buf_printf(out, "), labels), %zu)", begin.size + 1);
	} else {
		return false;
	}
	return true;
}

void fleet_join_recordings(struct buf *out, const char *columns)
{
	buf_printf(out,
		   " GLOBAL ANY INNER JOIN (SELECT recording, %s FROM recordings FINAL) USING "
		   "recording",
		   columns);
}
