/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arenas over time: arguments, the lines of the old tools, tables and plots.  See arenas.h. */
#include "cli/jemalloc/arenas.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/jemalloc/plot.h"
#include "cli/jemalloc/stats_input.h"
#include "cli/say.h"
#include "cli/table.h"
#include "wire/wide.h"

#define MIB (UINT64_C(1) << 20)
#define THRESHOLD_MAX (UINT64_C(1) << 40) /* MiB */
#define NUMBERS 3

static bool as_csv, as_json, as_plot, totals, consecutive, rates;
static const char *field_words, *color;

#define COMMON                                                                                     \
	VALUE("field", 'f', "NAME,…",                                                              \
	      "these instead: total, pdirty, stats.resident, bin.64.curregs", &field_words),       \
		FLAG("totals", 't', "the sum of all arenas too", &totals),                         \
		FLAG("plot", 0, "draw each as a line of bars", &as_plot),                          \
		FLAG("csv", 0, "print CSV", &as_csv), FLAG("json", 0, "print JSON", &as_json),     \
		WORD("color", 0, "WHEN", "auto, always or never", &color)

const struct command_option arenas_options[] = { COMMON, { 0 } };
const struct command_option arenas_del_options[] = {
	COMMON,
	FLAG("consecutive", 'c', "each against the one before it", &consecutive),
	FLAG("rate", 'r', "the change in a second", &rates),
	{ 0 },
};

/* The words behind the command: {FILE} {MIB {NUMBER …}} */
struct arguments {
	const char *path;
	bool threshold_given;
	uint64_t threshold; /* bytes */
	uint64_t number[NUMBERS];
	unsigned number_count;
};

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static int parse_arguments(struct arguments *a, const char *command, int argc, char **argv,
			   unsigned numbers)
{
	int word = argc && !is_number(argv[0]);

	*a = (struct arguments){ .path = word ? argv[0] : "jemdata", .threshold = 200 * MIB };
	for (int i = word; i < argc; i++) {
		uint64_t value;

		errno = 0;
		value = strtoull(argv[i], NULL, 10);
		if (!is_number(argv[i]) || errno || (i == word && value > THRESHOLD_MAX))
			return say_wrong(command, "'%s': invalid number", argv[i]);
		if (i == word) {
			a->threshold = value * MIB;
			a->threshold_given = true;
		} else if (a->number_count < numbers) {
			a->number[a->number_count++] = value;
		} else {
			return say_wrong(command, "what is '%s' for? --help says what it takes",
					 argv[i]);
		}
	}
	return 0;
}

static void add_snapshot(void *series, struct snapshots *r)
{
	arena_series_add(series, r);
}

/* FILE is a file with statistics or one that extract-jem-stats made, with or without its .py. */
static int load(struct arena_series *s, const char *command, const char *path)
{
	auto_free char *data = xasprintf("%s.py", path);
	struct err err = { .offset = ERR_NO_OFFSET };
	size_t n = strlen(path);

	if (n > 3 && !strcmp(path + n - 3, ".py"))
		strcpy(data, path);
	else if (!strcmp(path, "-") || !access(path, F_OK) || access(data, F_OK))
		return stats_input_file(command, path, add_snapshot, s);
	return arena_series_read_jemdata(s, data, &err) ? say_failed(command, data, &err) : 0;
}

/* The old way of printing, with the fields of OLD_FIELDS. */
#define OLD_FIELDS "total,active,mapped"
enum { TOTAL, ACTIVE, MAPPED, OLD_COUNT };
static const char *const old_names[] = { "total", "active", "mapped" };

struct old {
	const char *command;
	const struct arena_series *series;
	uint64_t threshold;
	struct buf out;
};

static bool passes(const struct old *o, uint64_t value)
{
	return ((int64_t)value < 0 ? -value : value) >= o->threshold;
}

static const char *const units[] = { "B", "KB", "MB", "GB" };

/* Twelve digits, and a point in any case. */
static void put_real(struct buf *out, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.12g", value);
	buf_text(out, text);
	if (!strpbrk(text, ".e"))
		buf_text(out, ".0");
}

/* "2.05078125 GB" */
static void put_size(struct buf *out, uint64_t bytes)
{
	double value = (double)(int64_t)bytes;
	unsigned unit = 0;

	for (; unit < 3 && (value >= 1024 || value <= -1024); unit++)
		value /= 1024;
	put_real(out, value);
	buf_printf(out, " %s", units[unit]);
}

/* "75.0%" */
static void put_share(struct buf *out, uint64_t part, uint64_t whole)
{
	if (whole)
		put_real(out, (double)wide_scale(part, 10000, whole) / 100);
	buf_text(out, whole ? "%" : "-%");
}

/* "200 MB": whole ones, rounded down. */
static void put_threshold(struct buf *out, uint64_t value)
{
	unsigned unit = 0;

	for (; unit < 3 && value >= 1024; unit++)
		value /= 1024;
	buf_printf(out, "%" PRIu64 " %s:\n", value, units[unit]);
}

static const uint64_t *values_of(const struct old *o, const struct arena_series_row *r)
{
	return o->series->values + r->value;
}

/* Whether all three values are there; says so if one is not. */
static bool is_whole(const struct old *o, size_t iteration, const struct arena_series_row *r)
{
	for (unsigned i = 0; i < OLD_COUNT; i++)
		if (values_of(o, r)[i] == STATS_NONE) {
			fprintf(stderr, "%s: iteration %zu, arena %" PRId64 ": no '%s'\n",
				o->command, iteration, r->id, old_names[i]);
			return false;
		}
	return true;
}

static void print_abs(struct old *o, int64_t id, const uint64_t *v)
{
	for (unsigned i = 0; i < OLD_COUNT; i++) {
		if (!passes(o, v[i]))
			continue;
		buf_printf(&o->out, "arena:  %" PRId64 "  %s:  ", id, old_names[i]);
		put_size(&o->out, v[i]);
		buf_char(&o->out, '\n');
	}
}

static void print_eff(struct old *o, int64_t id, const uint64_t *v)
{
	if (!passes(o, v[TOTAL]) && !passes(o, v[ACTIVE]) && !passes(o, v[MAPPED]))
		return;
	buf_printf(&o->out, "arena:  %" PRId64 "  total:  ", id);
	put_size(&o->out, v[TOTAL]);
	buf_text(&o->out, " (");
	put_share(&o->out, v[TOTAL], v[MAPPED]);
	buf_text(&o->out, ") active:  ");
	put_size(&o->out, v[ACTIVE]);
	buf_text(&o->out, "  (");
	put_share(&o->out, v[ACTIVE], v[MAPPED]);
	buf_text(&o->out, ") mapped:  ");
	put_size(&o->out, v[MAPPED]);
	buf_char(&o->out, '\n');
}

static bool print_iteration(struct old *o, enum arena_series_kind kind, uint64_t i)
{
	const struct arena_series_iteration *it = &o->series->iterations[i];

	buf_printf(&o->out, "%s from iteration # %" PRIu64 " above ",
		   kind == ARENA_SERIES_ABS ? "Absolutes" : "Efficiency", i);
	put_threshold(&o->out, o->threshold);
	for (size_t k = it->first; k < it->first + it->count; k++) {
		const struct arena_series_row *r = &o->series->rows[k];

		if (!is_whole(o, i, r))
			return false;
		(kind == ARENA_SERIES_ABS ? print_abs : print_eff)(o, r->id, values_of(o, r));
	}
	return true;
}

static bool print_deltas(struct old *o, uint64_t first, uint64_t last)
{
	const struct arena_series *s = o->series;
	const struct arena_series_iteration *it = &s->iterations[first];
	static const unsigned shown[] = { TOTAL, MAPPED };

	buf_printf(&o->out, "Deltas from iteration # %" PRIu64 " to %" PRIu64 " above ", first,
		   last);
	put_threshold(&o->out, o->threshold);
	for (size_t k = it->first; k < it->first + it->count; k++) {
		const struct arena_series_row *before = &s->rows[k];
		const struct arena_series_row *after = arena_series_find(s, last, before->id);

		if (!after) {
			fprintf(stderr,
				"%s: arena %" PRId64 " of iteration %" PRIu64 " is not in %" PRIu64
				"\n",
				o->command, before->id, first, last);
			continue;
		}
		if (!is_whole(o, first, before) || !is_whole(o, last, after))
			return false;
		for (unsigned i = 0; i < 2; i++) {
			uint64_t delta =
				values_of(o, after)[shown[i]] - values_of(o, before)[shown[i]];

			if (!passes(o, delta))
				continue;
			buf_printf(&o->out, "arena:  %" PRId64 "  delta %s:  ", before->id,
				   old_names[shown[i]]);
			put_size(&o->out, delta);
			buf_char(&o->out, '\n');
		}
	}
	it = &s->iterations[last];
	for (size_t k = it->first; k < it->first + it->count; k++)
		if (!arena_series_find(s, first, s->rows[k].id))
			fprintf(stderr,
				"%s: arena %" PRId64 " of iteration %" PRIu64 " was not in %" PRIu64
				"\n",
				o->command, s->rows[k].id, last, first);
	return true;
}

static int print_old(const char *command, const struct arena_series *s,
		     const struct arena_table_question *q)
{
	struct old o = { .command = command, .series = s, .threshold = q->threshold };
	struct err err;
	int status = 0;

	if (arena_series_check(s, q->first, q->first + 1, &err) ||
	    arena_series_check(s, q->from, q->to, &err))
		return say_failed(command, NULL, &err);
	for (uint64_t i = q->from; i < q->to && !status; i++)
		status = !(q->kind == ARENA_SERIES_DEL ? print_deltas(&o, q->first, i)
						       : print_iteration(&o, q->kind, i));
	if (buf_flush(&o.out, 1))
		status = 1;
	buf_release(&o.out);
	return status;
}

static void print_table(const struct arena_table *a, const struct term *term, struct buf *out)
{
	struct table_column columns[2 * ARENA_SERIES_FIELDS + 5] = {
		{ .title = "iteration" }, { .title = "time", .left = true }, { .title = "arena" }
	};
	const struct arena_table_cell *c = a->cells;
	auto_release(table_release) struct table t = { 0 };
	char room[64];

	for (unsigned i = 0; i < a->column_count; i++)
		columns[i + 3].title = a->columns[i].share ? "of mapped" : a->columns[i].name;
	columns[a->column_count + 3] = (struct table_column){ .title = "note", .left = true };
	table_init(&t, columns);
	for (size_t i = 0; i < a->row_count; i++) {
		const struct arena_table_row *r = &a->rows[i];

		table_cellf(&t, "%zu", r->iteration);
		table_cell(&t, r->time_ns == WHEN_NONE ? "-" : when_text(r->time_ns, room));
		table_cell(&t, arena_table_id(r, room));
		for (unsigned k = 0; k < a->column_count; k++, c++) {
			if (!c->known)
				table_cell(&t, "-");
			else if (a->columns[k].share)
				table_cellf(&t, "%.2f%%", c->value);
			else if (a->columns[k].digits)
				table_cellf(&t, "%.1f", c->value);
			else
				table_cell(&t, signed_count_text(c->number));
		}
		table_cell(&t, arena_table_note(r));
	}
	table_print(&t, term, true, out);
}

/* A plot of each column of each arena, in the order in which they come. */
static void print_plots(const struct arena_table *a, const struct arena_table_question *q,
			const struct term *term, struct buf *out)
{
	size_t length = q->to > q->from ? (size_t)(q->to - q->from) : 0;
	auto_free double *values = xcalloc(length + 1, sizeof(*values));
	auto_free bool *done = xcalloc(a->cell_count + 1, sizeof(*done));

	for (size_t i = 0; i < a->cell_count; i++) {
		const struct arena_table_row *first = &a->rows[i / a->column_count];
		const struct arena_table_column *c = &a->columns[i % a->column_count];
		char title[160], room[24];

		if (done[i] || !a->cells[i].known || c->share)
			continue;
		for (size_t k = 0; k < length; k++)
			values[k] = PLOT_NOTHING;
		for (size_t k = i; k < a->cell_count; k += a->column_count) {
			const struct arena_table_row *r = &a->rows[k / a->column_count];

			if (r->id != first->id || !a->cells[k].known)
				continue;
			values[r->iteration - q->from] = a->cells[k].value;
			done[k] = true;
		}
		snprintf(title, sizeof(title), "%s%s  %s",
			 first->id == ARENA_SERIES_ALL ? "" : "arena ", arena_table_id(first, room),
			 c->name);
		plot(out, term, title, values, length, c->bytes);
	}
}

static int print_new(const char *command, const struct arena_series *s,
		     const struct arena_table_question *q)
{
	auto_buf struct buf out = { 0 };
	auto_release(arena_table_release) struct arena_table t = { 0 };
	struct term term;
	struct json j = { .out = &out };
	struct err err;
	int status = 0;

	term_init(&term, 1, color);
	if (arena_table_compute(s, q, &t, &err)) {
		status = say_failed(command, NULL, &err);
	} else if (as_csv) {
		arena_table_write_csv(&out, &t);
	} else if (as_json) {
		arena_table_write_json(&j, &t);
	} else if (as_plot) {
		print_plots(&t, q, &term, &out);
	} else {
		print_table(&t, &term, &out);
	}
	if (buf_flush(&out, 1))
		status = 1;
	return status;
}

int arenas_run(const char *command, enum arena_series_kind kind, int argc, char **argv)
{
	bool options =
		as_csv || as_json || as_plot || totals || consecutive || rates || field_words;
	unsigned del = kind == ARENA_SERIES_DEL;
	struct arena_table_question q = { .kind = kind,
					  .consecutive = consecutive,
					  .rates = rates };
	struct arena_series s;
	struct arguments a;
	struct err err;
	int status = parse_arguments(&a, command, argc, argv, 2 + del);

	if (status)
		return status;
	if (arena_series_init(&s,
			      field_words      ? field_words
			      : options && del ? "total,mapped"
					       : OLD_FIELDS,
			      totals, &err))
		return say_wrong(command, "%s", err.text);
	status = load(&s, command, a.path);
	q.first = del ? a.number[0] : 0;
	q.from = del && a.number_count < 2 ? 1 : a.number[del];
	q.to = a.number_count > 1 + del ? a.number[1 + del] : s.count;
	q.threshold = options && !a.threshold_given ? 0 : a.threshold;
	if (s.count)
		status |= (options ? print_new : print_old)(command, &s, &q);
	arena_series_release(&s);
	return status;
}
