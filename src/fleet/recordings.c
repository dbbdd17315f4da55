/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of recordings.  See recordings.h. */
#include "fleet/recordings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "fleet/groups.h"
#include "fleet/rows.h"
#include "fleet/sql.h"

static const struct {
	const char *word, *column;
} sorts[] = {
	{ "started", "started" },
	{ "ended", "ended" },
	{ "live", "after" },
	{ "growth", "growth" },
	{ "peak", "peak_bytes" },
	{ "leaked", "leaked_bytes" },
	{ "allocated", "allocated_bytes" },
	{ "service", "service" },
	{ "host", "host" },
	{ "release", "release" },
};

static void write_list(struct buf *sql, const struct fleet_range *r, const char *id)
{
	buf_printf(sql,
		   "SELECT id, kind, service, host, build, release, command, file, "
		   "arrayStringConcat(labels, '\\n') AS label_list, toUInt32(started), "
		   "toUInt32(ended), toUInt32(pushed), pid, allocated_bytes, allocated_count, "
		   "leaked_bytes, leaked_count, peak_bytes, peak_count, after, grown / greatest(b1 "
		   "- b0, %" PRIu32 ") AS growth FROM ",
		   r->step);
	fleet_write_ends(sql, r);
	fleet_join_recordings(sql, "id, kind, service, host, build, release, command, file, "
				   "labels, started, ended, pushed, pid, allocated_bytes, "
				   "allocated_count, leaked_bytes, leaked_count, peak_bytes, "
				   "peak_count");
	if (id && *id) {
		buf_text(sql, " WHERE startsWith(id, ");
		sql_text(sql, id);
		buf_char(sql, ')');
	}
}

static int read_list(struct fleet_recordings *l, const struct buf *answer, struct err *err)
{
	struct rows r = { (unsigned char *)answer->data,
			  (unsigned char *)answer->data + answer->size, false };

	while (rows_more(&r)) {
		struct fleet_recording *row = xpush(l->rows, l->count, l->room);

		*row = (struct fleet_recording){ 0 };
		for (unsigned i = 0; i < FLEET_TEXTS; i++)
			row->texts[i] = (const char *)(uintptr_t)rows_take_text(&r, &l->texts);
		row->started = (uint32_t)rows_take(&r, 4);
		row->ended = (uint32_t)rows_take(&r, 4);
		row->pushed = (uint32_t)rows_take(&r, 4);
		row->pid = (uint32_t)rows_take(&r, 4);
		row->allocated_bytes = rows_take(&r, 8);
		row->allocated_count = rows_take(&r, 8);
		row->leaked_bytes = rows_take(&r, 8);
		row->leaked_count = rows_take(&r, 8);
		row->peak_bytes = rows_take(&r, 8);
		row->peak_count = rows_take(&r, 8);
		row->live_bytes = rows_take(&r, 8);
		row->growth = rows_take_real(&r);
	}
	for (size_t i = 0; i < l->count; i++)
		for (unsigned k = 0; k < FLEET_TEXTS; k++)
			l->rows[i].texts[k] = l->texts.data + (uintptr_t)l->rows[i].texts[k];
	return r.bad ? err_set(err, -EBADMSG, "the server's answer is not what was asked for") : 0;
}

int fleet_recordings_find(struct fleet_recordings *l, const struct fleet_range *r,
			  const struct fleet_listing *how, struct err *err)
{
	auto_buf struct buf sql = { 0 }, sum = { 0 }, out = { 0 };
	const char *column = "started";
	int error;

	*l = (struct fleet_recordings){ 0 };
	if (!r->last)
		return 0;
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++)
		if (!strcmp(how->sort, sorts[i].word))
			column = sorts[i].column;
	write_list(&sql, r, how->id);
	/* All of them are counted without what is known of each, where that is possible. */
	if (how->id && *how->id) {
		buf_printf(&sum, "SELECT count() FROM (%s)", sql.data);
	} else {
		buf_text(&sum, "SELECT uniqExact(recording)");
		fleet_range_from(r, &sum);
	}
	error = fleet_ask_number(r->fleet, sum.data, &l->total, err);
	if (error || !how->count)
		return error;
	buf_printf(&sql, " ORDER BY %s%s, id LIMIT %" PRIu32 ", %" PRIu32 " FORMAT RowBinary",
		   column, how->descending ? " DESC" : "", how->skip, how->count);
	error = fleet_ask(r->fleet, sql.data, &out, err);
	return error ? error : read_list(l, &out, err);
}

void fleet_recordings_release(struct fleet_recordings *l)
{
	free(l->rows);
	buf_release(&l->texts);
}
