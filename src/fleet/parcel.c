/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parcels.  See parcel.h. */
#include "fleet/parcel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "fleet/rows.h"

#define MAGIC 0x3254454c4650454dull /* "MEPFLET2" */
#define BUSY_TRIES 600
#define BUSY_WAIT_NS 100000000

/* The columns of each table, in the order in which rows have them. */
static const struct {
	const char *table, *columns;
	bool looked_up; /* has a batch's number; else a repeated row changes nothing */
} tables[] = {
	{ "recordings",
	  "recording, id, kind, service, host, build, release, command, labels, started, ended, "
	  "day, pid, file, allocated_bytes, allocated_count, leaked_bytes, leaked_count, "
	  "peak_bytes, peak_count, pushed",
	  false },
	{ "stacks",
	  "hash, call, functions, files, modules, lines, addresses, kinds, depth, responsible",
	  false },
	{ "samples",
	  "day, bucket, recording, batch, stack, size_class, allocated_bytes, allocated_count, "
	  "freed_bytes, freed_count, live_bytes, live_count, leaked_bytes, leaked_count, "
	  "peak_bytes, peak_count, temporary_bytes, temporary_count, live_variance",
	  true },
	{ "curves",
	  "day, bucket, recording, batch, allocated_bytes, allocated_count, freed_bytes, "
	  "freed_count, live_bytes, live_count",
	  true },
	{ "jemalloc_stats", "day, time, recording, batch, field, arena, size_class, value", true },
	{ "totals",
	  "day, recording, batch, stack, size_class, first, last, allocated_bytes, "
	  "allocated_count, freed_bytes, freed_count, leaked_bytes, leaked_count, peak_bytes, "
	  "peak_count, temporary_bytes, temporary_count",
	  true },
};
#define TABLES (sizeof(tables) / sizeof(*tables))

static size_t table_of(const char *name)
{
	size_t i = 0;

	while (i < TABLES && strcmp(tables[i].table, name) != 0)
		i++;
	return i;
}

struct parcel_batch *parcel_add(struct parcel *p, const char *table, uint32_t day)
{
	struct parcel_batch *b = xpush(p->batches, p->count, p->room);
	uint64_t key[3] = { p->recording, p->count, p->part };

	*b = (struct parcel_batch){ .day = day,
				    .id = XXH3_64bits(key, p->part ? sizeof(key) : 16) };
	snprintf(b->table, sizeof(b->table), "%s", table);
	return b;
}

void parcel_release(struct parcel *p)
{
	for (size_t i = 0; i < p->count; i++)
		buf_release(&p->batches[i].content);
	free(p->batches);
	*p = (struct parcel){ 0 };
}

bool parcel_may_wait(int error)
{
	return error && error != -EACCES && error != -ENOENT && error != -EINVAL;
}

static int count_rows(const struct fleet *f, const char *table, uint64_t recording, uint64_t *ret,
		      struct err *err)
{
	auto_free char *sql =
		xasprintf("SELECT count() FROM %s WHERE recording = %" PRIu64, table, recording);

	return fleet_ask_number(f, sql, ret, err);
}

static int look_up(const struct fleet *f, const struct parcel *p, const struct parcel_batch *b,
		   bool *ret_there, struct err *err)
{
	auto_buf struct buf sql = { 0 };
	uint64_t rows = 0;
	int error;

	buf_printf(&sql,
		   "SELECT count() FROM %s WHERE day = toDate(%" PRIu32 ") AND recording = %" PRIu64
		   " AND batch = %" PRIu64,
		   b->table, b->day, p->recording, b->id);
	error = fleet_ask_number(f, sql.data, &rows, err);
	if (!error && rows && rows != b->rows)
		return err_set(err, -EPROTO, "a batch of %" PRIu64 " rows is there with %" PRIu64,
			       b->rows, rows);
	*ret_there = rows != 0;
	return error;
}

/* One batch, unless it is there.  The same rows that are still being taken, of an attempt whose
 * answer never came, are waited for: then they are there, or they are not. */
static int send_batch(const struct fleet *f, const struct parcel *p, const struct parcel_batch *b,
		      bool begun, struct parcel_sent *ret, struct err *err)
{
	size_t table = table_of(b->table);
	auto_free char *insert = xasprintf("INSERT INTO %s (%s) FORMAT RowBinary",
					   tables[table].table, tables[table].columns);
	auto_free char *id = xasprintf("memoir-%016" PRIx64, b->id);
	const struct timespec wait = { .tv_nsec = BUSY_WAIT_NS };
	bool there = false;
	int error = -EBUSY;

	for (unsigned i = 0; error == -EBUSY && i < BUSY_TRIES; i++) {
		if (i)
			nanosleep(&wait, NULL);
		error = tables[table].looked_up && (begun || i) ? look_up(f, p, b, &there, err) : 0;
		if (!error && !there)
			error = fleet_send(f, insert, &b->content, id, err);
	}
	if (error)
		return error;
	ret->repeated += there;
	ret->batches += !there;
	ret->rows += there ? 0 : b->rows;
	ret->bytes += there ? 0 : b->content.size;
	return 0;
}

uint64_t parcel_name(const struct parcel *p)
{
	uint64_t key[2] = { p->recording, p->part };

	return p->part ? XXH3_64bits(key, sizeof(key)) : p->recording;
}

int parcel_is_there(const struct fleet *f, uint64_t name, bool *ret_there, struct err *err)
{
	uint64_t rows = 0;
	int error = count_rows(f, "parcels", name, &rows, err);

	*ret_there = rows != 0;
	return error;
}

int parcel_send(const struct parcel *p, const struct fleet *f, struct parcel_sent *ret,
		struct err *err)
{
	bool whole = false;
	uint64_t begun = 0, name = parcel_name(p);
	auto_free char *end = xasprintf("INSERT INTO parcels (recording, day, at) SELECT "
					"toUInt64(%" PRIu64 "), toDate(%" PRIu32 "), now()",
					name, p->count ? p->batches[0].day : 0);
	int error = parcel_is_there(f, name, &whole, err);

	*ret = (struct parcel_sent){ .was_there = whole };
	if (!error && !whole)
		error = count_rows(f, "recordings", p->recording, &begun, err);
	for (size_t i = 0; i < p->count && !error && !whole; i++)
		if (!begun || p->part || strcmp(p->batches[i].table, "recordings") != 0)
			error = send_batch(f, p, &p->batches[i], begun != 0, ret, err);
	if (!error && !whole)
		error = fleet_ask(f, end, NULL, err);
	return error;
}

void parcel_write(const struct parcel *p, struct buf *out)
{
	size_t start = out->size;

	rows_put_u64(out, MAGIC);
	rows_put_u64(out, p->recording);
	rows_put_u64(out, p->part);
	rows_put_u64(out, p->count);
	for (size_t i = 0; i < p->count; i++) {
		const struct parcel_batch *b = &p->batches[i];

		rows_put_u8(out, (uint8_t)table_of(b->table));
		rows_put_u32(out, b->day);
		rows_put_u64(out, b->rows);
		rows_put_u64(out, b->id);
		rows_put_u64(out, b->content.size);
		buf_add(out, b->content.data, b->content.size);
	}
	rows_put_u64(out, XXH3_64bits(out->data + start, out->size - start));
}

int parcel_read(struct parcel *p, const void *data, size_t size, struct err *err)
{
	struct rows r = { data, (const unsigned char *)data + (size < 8 ? 0 : size - 8), false };
	struct rows sum = { r.end, (const unsigned char *)data + size, false };
	uint64_t count;

	*p = (struct parcel){ 0 };
	if (size < 32 || rows_take(&sum, 8) != XXH3_64bits(data, size - 8) ||
	    rows_take(&r, 8) != MAGIC)
		return err_set(err, -EBADMSG, "it is no parcel, or is damaged");
	p->recording = rows_take(&r, 8);
	p->part = rows_take(&r, 8);
	count = rows_take(&r, 8);
	for (uint64_t i = 0; i < count && !r.bad; i++) {
		uint64_t table = rows_take(&r, 1), length;
		struct parcel_batch *b;
		const unsigned char *bytes;

		if (table >= TABLES)
			break;
		b = parcel_add(p, tables[table].table, (uint32_t)rows_take(&r, 4));
		b->rows = rows_take(&r, 8);
		b->id = rows_take(&r, 8);
		length = rows_take(&r, 8);
		bytes = length <= (uint64_t)(r.end - r.at) ? rows_take_bytes(&r, length) : NULL;
		if (!bytes)
			r.bad = true;
		else
			buf_add(&b->content, bytes, length);
	}
	if (r.bad || p->count != count || r.at != r.end) {
		parcel_release(p);
		return err_set(err, -EBADMSG, "it is damaged");
	}
	return 0;
}
