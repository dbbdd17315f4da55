/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir analyze-size: what the bytes of a recording are spent on, and how long things lived. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/json.h"
#include "base/order.h"
#include "base/progress.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/save.h"
#include "cli/waiting.h"
#include "query/clock.h"
#include "rewrite/sizes.h"

static bool as_json;
static const char *color;
static struct term term;

static const struct command_option options[] = {
	FLAG("json", 0, "print JSON", &as_json),
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	WAITING_ROWS,
	{ 0 },
};

#define SECOND 1000000000ull

static const struct {
	const char *name;
	uint64_t below_ns;
} ages[] = {
	{ "< 1 s", SECOND },	      { "< 10 s", 10 * SECOND },   { "< 30 s", 30 * SECOND },
	{ "< 1 min", 60 * SECOND },   { "< 2 min", 120 * SECOND }, { "< 5 min", 300 * SECOND },
	{ "< 10 min", 600 * SECOND }, { "< 1 h", 3600 * SECOND },  { ">= 1 h", NEVER },
};
#define AGES (sizeof(ages) / sizeof(ages[0]))

/* How many allocations lived how long. */
struct lifetimes {
	uint64_t count[AGES], bytes[AGES];
	uint64_t leaked, leaked_bytes;
	uint64_t removed, removed_bytes; /* no longer in the recording */
	uint64_t all;
};

static void count_lifetimes(struct lifetimes *l, const struct model *m)
{
	const struct columns *c = &m->allocations;
	struct model_clock clock = model_clock(m);

	memset(l, 0, sizeof(*l));
	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t ns, size = columns_size(c, i);
		unsigned age = 0;

		if (columns_freed_at(c, i) == NEVER) {
			l->leaked++;
			l->leaked_bytes += size;
			continue;
		}
		ns = clock_duration_ns(&clock, columns_freed_at(c, i) - columns_allocated_at(c, i));
		while (ns >= ages[age].below_ns)
			age++;
		l->count[age]++;
		l->bytes[age] += size;
	}
	l->removed = m->totals.allocations - m->recorded.allocations;
	l->removed_bytes = m->totals.allocated_bytes - m->recorded.allocated_bytes;
	l->all = m->totals.allocations;
}

/* A row with its name, to be sorted. */
struct named_row {
	char name[24];
	struct sizes_row row;
};

ORDER(by_stored, struct named_row, FALLING(row.stored) ?: strcmp(x->name, y->name))

/* Those that there are any of, the largest first. */
static unsigned sorted_rows(const struct sizes_row *rows, unsigned count,
			    const char *(*name)(unsigned), struct named_row *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		const char *known = name(i);

		if (!rows[i].count)
			continue;
		if (known)
			snprintf(out[n].name, sizeof(out[n].name), "%s", known);
		else
			snprintf(out[n].name, sizeof(out[n].name), "type %u", i);
		out[n++].row = rows[i];
	}
	SORT(out, n, by_stored);
	return n;
}

static const struct {
	const char *key, *title, *counted;
	bool about; /* the stored bytes are a likely share */
} parts[] = {
	{ "chunks", "CHUNKS", "chunks", false },
	{ "columns", "COLUMNS OF EVENTS", "values", true },
	{ "ops", "EVENTS", "events", true },
};

static unsigned rows_of(const struct sizes *z, unsigned part, struct named_row *out)
{
	if (part == 0)
		return sorted_rows(z->types, 256, sizes_type_name, out);
	if (part == 1)
		return sorted_rows(z->columns, COLUMN_COUNT, sizes_column_name, out);
	return sorted_rows(z->ops, SIZES_OPS, sizes_op_name, out);
}

static void text_part(struct buf *out, const struct sizes *z, unsigned part)
{
	struct named_row rows[256];
	unsigned n = rows_of(z, part, rows);
	uint64_t all = part ? z->types[CHUNK_EVENTS].stored : z->file_bytes;

	if (!n)
		return;
	term_printf(&term, out, "{title}%-20s{}{dim}%14s  %8s%12s%14s{}\n", parts[part].title,
		    parts[part].about ? "about stored" : "stored", "", "raw", parts[part].counted);
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "  %-18s%14s  %8s%12s%14s\n", rows[i].name,
			   size_text(rows[i].row.stored), share_text(rows[i].row.stored, all),
			   size_text(rows[i].row.raw), count_text(rows[i].row.count));
	buf_char(out, '\n');
}

static void text_age(struct buf *out, const char *name, uint64_t count, uint64_t bytes,
		     uint64_t all)
{
	if (count)
		buf_printf(out, "  %-18s%14s  %8s%12s\n", name, count_text(count),
			   share_text(count, all), size_text(bytes));
}

static void print_text(struct buf *out, const struct sizes *z, const struct lifetimes *l)
{
	buf_printf(out, "%s in the file\n\n", size_text(z->file_bytes));
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		text_part(out, z, i);
	term_printf(&term, out, "{title}%-20s{}{dim}%14s  %8s%12s{}\n", "LIFETIMES", "allocations",
		    "", "bytes");
	for (unsigned i = 0; i < AGES; i++)
		text_age(out, ages[i].name, l->count[i], l->bytes[i], l->all);
	text_age(out, "leaked", l->leaked, l->leaked_bytes, l->all);
	text_age(out, "removed before", l->removed, l->removed_bytes, l->all);
}

static void json_age(struct json *j, const char *name, uint64_t below, uint64_t count,
		     uint64_t bytes)
{
	json_object(j, NULL);
	json_text(j, "name", name);
	if (below && below != NEVER)
		json_number(j, "below_ns", below);
	json_number(j, "allocations", count);
	json_number(j, "bytes", bytes);
	json_end_object(j);
}

static void json_part(struct json *j, const struct sizes *z, unsigned part)
{
	struct named_row rows[256];
	unsigned n = rows_of(z, part, rows);

	JSON_ROWS(j, parts[part].key, i, n) {
		json_text(j, "name", rows[i].name);
		json_number(j, parts[part].about ? "about_stored_bytes" : "stored_bytes",
			    rows[i].row.stored);
		json_number(j, "raw_bytes", rows[i].row.raw);
		json_number(j, "count", rows[i].row.count);
	}
}

static void print_json(struct buf *out, const struct sizes *z, const struct lifetimes *l)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_number(&j, "file_bytes", z->file_bytes);
	json_number(&j, "other_bytes", z->rest_bytes);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		json_part(&j, z, i);
	json_array(&j, "lifetimes");
	for (unsigned i = 0; i < AGES; i++)
		json_age(&j, ages[i].name, ages[i].below_ns, l->count[i], l->bytes[i]);
	json_age(&j, "leaked", 0, l->leaked, l->leaked_bytes);
	json_age(&j, "removed", 0, l->removed, l->removed_bytes);
	json_end_array(&j);
	json_end_object(&j);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	progress_update(context, done, total);
}

/* The chunks of a file that open_recording() has read before. */
static bool measure(struct sizes *z, const char *path)
{
	struct progress bar;
	struct source s;
	struct err err;

	memset(&s, 0, sizeof(s));
	if (reader_open(&s.reader, path, &err)) {
		save_error(path, &err);
		return false;
	}
	s.progress = show_progress;
	s.context = &bar;
	progress_start(&bar, "measuring");
	sizes_measure(z, &s);
	progress_end(&bar);
	source_release(&s);
	return true;
}

static int run_analyze_size(int argc, char **argv)
{
	struct open_options how = { .quiet = true };
	struct lifetimes lifetimes;
	auto_buf struct buf out = { 0 };
	struct sizes sizes;
	struct model *m;
	int status;

	term_init(&term, 1, color);
	m = open_recording("analyze-size", argc, argv, &how, &status);
	if (!m)
		return status;
	count_lifetimes(&lifetimes, m);
	model_free(m);
	if (!measure(&sizes, argv[0]))
		return 1;
	if (as_json)
		print_json(&out, &sizes, &lifetimes);
	else
		print_text(&out, &sizes, &lifetimes);
	if (buf_flush(&out, 1))
		status = 1;
	return status;
}

const struct command command_analyze_size = {
	.name = "analyze-size",
	.args = "FILE",
	.help = "what the bytes of a recording are spent on, and how long things lived",
	.examples = "  memoir analyze-size app.dat\n"
		    "  memoir analyze-size --json app.dat | jq '.chunks[0]'\n",
	.options = options,
	.run = run_analyze_size,
};
