/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Series of any field.  See arenas_series.h.
 *
 * The file is read once; what is kept is one row for each arena of each snapshot, with as many
 * numbers as there are fields. */
#include "cli/jemalloc/arenas_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "cli/jemalloc/arenas.h"
#include "cli/jemalloc/plot.h"
#include "cli/table.h"
#include "jemalloc/fields.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"

#define FIELDS_MAX 16
#define ALL (-1) /* the sum of all arenas */

static bool as_csv, as_json, as_plot, totals, consecutive, rates;
static const char *field_words, *color;

#define COMMON                                                                                     \
	{ "field",	'f',                                                                       \
	  "NAME,…",	"these instead: total, pdirty, stats.resident, bin.64.curregs",            \
	  COMMAND_TEXT, &field_words },                                                            \
		{ "totals", 't', NULL, "the sum of all arenas too", COMMAND_FLAG, &totals },       \
		{ "plot", 0, NULL, "draw each as a line of bars", COMMAND_FLAG, &as_plot },        \
		{ "csv", 0, NULL, "print CSV", COMMAND_FLAG, &as_csv },                            \
		{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },                         \
	{                                                                                          \
		"color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color                  \
	}

const struct command_option arenas_series_options[] = { COMMON, { 0 } };
const struct command_option arenas_series_del_options[] = {
	COMMON,
	{ "consecutive", 'c', NULL, "each against the one before it", COMMAND_FLAG, &consecutive },
	{ "rate", 'r', NULL, "the change in a second", COMMAND_FLAG, &rates },
	{ 0 },
};

struct row {
	int64_t id;
	size_t values; /* where its numbers begin */
	const char *note;
};

struct iteration {
	int64_t time_ns;
	uint64_t uptime;
	size_t first, count;
};

struct series {
	const char *command;
	enum arenas_series_kind kind;
	struct arenas_arguments args;
	struct fields_name fields[FIELDS_MAX];
	unsigned field_count;
	struct iteration *iterations;
	size_t count, room;
	struct row *rows;
	size_t row_count, row_room;
	uint64_t *values;
	size_t value_count, value_room;
	struct term term;
	int status;
};

bool arenas_series_wanted(void)
{
	return as_csv || as_json || as_plot || totals || consecutive || rates || field_words;
}

static int parse_fields(struct series *s)
{
	const char *at = field_words			? field_words
			 : s->kind == ARENAS_SERIES_DEL ? "total,mapped"
							: "total,active,mapped";
	struct err err;

	for (;; at++) {
		size_t n = strcspn(at, ",");

		if (s->field_count == FIELDS_MAX) {
			fprintf(stderr, "memoir %s: at most %d fields\n", s->command, FIELDS_MAX);
			return 2;
		}
		if (fields_parse(&s->fields[s->field_count++], at, n, &err)) {
			fprintf(stderr, "memoir %s: %s\n", s->command, err.text);
			return 2;
		}
		at += n;
		if (!*at)
			return 0;
	}
}

static void add_row(struct series *s, const struct stats *stats, const struct stats_arena *a,
		    int64_t id)
{
	struct row *row;

	s->rows = xgrow(s->rows, s->row_count, &s->row_room, sizeof(*s->rows));
	row = &s->rows[s->row_count++];
	*row = (struct row){ .id = id, .values = s->value_count };
	s->iterations[s->count - 1].count++;
	for (unsigned i = 0; i < s->field_count; i++) {
		s->values = xgrow(s->values, s->value_count, &s->value_room, sizeof(*s->values));
		s->values[s->value_count++] = s->fields[i].kind == FIELDS_TOTAL && id != ALL
						      ? STATS_NONE
						      : fields_value(&s->fields[i], stats, a);
	}
}

static bool any_total(const struct series *s)
{
	for (unsigned i = 0; i < s->field_count; i++)
		if (s->fields[i].kind == FIELDS_TOTAL)
			return true;
	return totals;
}

static bool only_totals(const struct series *s)
{
	for (unsigned i = 0; i < s->field_count; i++)
		if (s->fields[i].kind != FIELDS_TOTAL)
			return false;
	return true;
}

static int by_id(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return (a->id > b->id) - (a->id < b->id);
}

static void take(struct series *s, struct snapshots *r)
{
	static const struct stats_arena nothing;
	const struct stats_arena *whole = any_total(s) ? stats_merge(&r->stats) : NULL;
	struct iteration *it;

	s->iterations = xgrow(s->iterations, s->count, &s->room, sizeof(*it));
	it = &s->iterations[s->count++];
	*it = (struct iteration){ .time_ns = r->time_ns,
				  .uptime = stats_uptime(&r->stats),
				  .first = s->row_count };
	if (whole || (any_total(s) && only_totals(s)))
		add_row(s, &r->stats, whole ? whole : &nothing, ALL);
	for (size_t i = 0; i < r->stats.arena_count && !only_totals(s); i++)
		if (r->stats.arenas[i].id >= 0)
			add_row(s, &r->stats, &r->stats.arenas[i], r->stats.arenas[i].id);
	if (it->count)
		qsort(s->rows + it->first, it->count, sizeof(*s->rows), by_id);
}

static int load(struct series *s)
{
	struct err err = { .text = "" };
	struct snapshots r;
	int n = snapshots_open(&r, s->args.path, &err);

	if (!n)
		while ((n = snapshots_next(&r, &err)) == 1 || n == -EBADMSG) {
			if (n == 1) {
				take(s, &r);
				continue;
			}
			fprintf(stderr, "memoir %s: %s, offset %" PRIu64 ": %s\n", s->command,
				s->args.path, err.offset, err.text);
			s->status = 1;
		}
	if (n)
		fprintf(stderr, "memoir %s: %s: %s\n", s->command, s->args.path, err.text);
	else if (!s->count && !s->status)
		fprintf(stderr, "memoir %s: %s holds no jemalloc statistics: %s\n", s->command,
			s->args.path, snapshots_guess(&r));
	snapshots_close(&r);
	return n || !s->count;
}

static struct row *find(const struct series *s, size_t iteration, int64_t id)
{
	const struct iteration *it = &s->iterations[iteration];
	struct row wanted = { .id = id };

	return it->count ? bsearch(&wanted, s->rows + it->first, it->count, sizeof(wanted), by_id)
			 : NULL;
}

/* Seconds between two; 0: nobody knows. */
static double between(const struct series *s, size_t first, size_t last)
{
	const struct iteration *a = &s->iterations[first], *b = &s->iterations[last];

	if (a->time_ns != WHEN_NONE && b->time_ns != WHEN_NONE)
		return (double)(b->time_ns - a->time_ns) / 1e9;
	if (a->uptime < STATS_NONE && b->uptime < STATS_NONE)
		return (double)(int64_t)(b->uptime - a->uptime) / 1e9;
	return 0;
}

/* One number of the output. */
struct cell {
	bool known;
	bool real;
	int64_t number;
	double value;
};

/* What is printed of one row: `before` for differences, or NULL. */
static struct cell cell_of(const struct series *s, const struct row *now, const struct row *before,
			   double seconds, unsigned field)
{
	uint64_t value = s->values[now->values + field], base;
	struct cell c = { .known = value != STATS_NONE, .number = (int64_t)value };

	if (s->kind == ARENAS_SERIES_DEL) {
		base = before ? s->values[before->values + field] : STATS_NONE;
		c.known = c.known && base != STATS_NONE;
		c.number = (int64_t)(value - base);
	}
	c.value = (double)c.number;
	if (rates && s->kind == ARENAS_SERIES_DEL) {
		c.real = true;
		c.known = c.known && seconds > 0;
		c.value = c.known ? c.value / seconds : 0;
	}
	return c;
}

/* Any of its numbers of bytes reaches the threshold, or it has another one. */
static bool passes(const struct series *s, const struct row *now, const struct row *before)
{
	for (unsigned i = 0; i < s->field_count; i++) {
		struct cell c = cell_of(s, now, before, 1, i);
		uint64_t size = c.number < 0 ? -(uint64_t)c.number : (uint64_t)c.number;

		if (!s->fields[i].bytes || (c.known && size >= s->args.threshold))
			return true;
	}
	return false;
}

/* Calls visit() for each row of each iteration that is asked for, in order.  A row that is gone has
 * no numbers, and one that is new no difference; both have a note. */
typedef void (*visit)(struct series *s, size_t iteration, const struct row *now,
		      const struct row *before, double seconds, void *context);

static void each(struct series *s, uint64_t first, uint64_t from, uint64_t to, visit call,
		 void *context)
{
	for (uint64_t i = from; i < to; i++) {
		const struct iteration *it = &s->iterations[i];
		uint64_t base = s->kind == ARENAS_SERIES_DEL && !consecutive ? first
				: i					     ? i - 1
									     : i;
		double seconds = between(s, base, i);

		for (size_t k = it->first; k < it->first + it->count; k++) {
			struct row *now = &s->rows[k];
			const struct row *before = find(s, base, now->id);

			now->note = base != i && !before ? "new" : "";
			if (passes(s, now, before) || *now->note)
				call(s, i, now, before, seconds, context);
		}
		it = &s->iterations[base];
		for (size_t k = it->first; base != i && k < it->first + it->count; k++) {
			struct row gone = { .id = s->rows[k].id, .note = "gone" };

			if (!find(s, i, gone.id))
				call(s, i, &gone, NULL, seconds, context);
		}
	}
}

static const char *id_text(const struct row *r, char room[24])
{
	if (r->id == ALL)
		return "all";
	snprintf(room, 24, "%" PRId64, r->id);
	return room;
}

static bool is_gone(const struct row *r)
{
	return *r->note == 'g';
}

static void column_name(const struct series *s, unsigned field, char room[96])
{
	snprintf(room, 96, "%s%s", s->fields[field].text,
		 s->kind != ARENAS_SERIES_DEL ? ""
		 : rates		      ? "_per_second"
					      : "_delta");
}

static bool has_share(const struct series *s, unsigned field)
{
	return s->kind == ARENAS_SERIES_EFF && s->fields[field].bytes &&
	       strcmp(s->fields[field].text, "mapped") != 0;
}

/* Of what the arena has mapped, as eff always had it. */
static double share(const struct series *s, const struct row *r, unsigned field)
{
	for (unsigned i = 0; i < s->field_count; i++) {
		uint64_t mapped = s->values[r->values + i], value = s->values[r->values + field];

		if (!strcmp(s->fields[i].text, "mapped") && mapped < STATS_NONE && mapped &&
		    value < STATS_NONE)
			return 100.0 * (double)value / (double)mapped;
	}
	return -1;
}

static void csv_row(struct series *s, size_t iteration, const struct row *now,
		    const struct row *before, double seconds, void *context)
{
	const struct iteration *it = &s->iterations[iteration];
	struct buf *out = context;
	char room[64];

	csv_number(out, iteration);
	if (it->time_ns == WHEN_NONE)
		buf_char(out, ',');
	else
		csv_cell(out, when_text(it->time_ns, room));
	csv_cell(out, id_text(now, room));
	for (unsigned i = 0; i < s->field_count; i++) {
		struct cell c = { 0 };

		if (!is_gone(now))
			c = cell_of(s, now, before, seconds, i);
		snprintf(room, sizeof(room), c.real ? "%.3f" : "%.0f", c.value);
		if (!c.known)
			buf_char(out, ',');
		else if (c.real)
			csv_cell(out, room);
		else
			buf_printf(out, ",%" PRId64, c.number);
		if (has_share(s, i)) {
			double part = is_gone(now) ? -1 : share(s, now, i);

			snprintf(room, sizeof(room), "%.2f", part);
			if (part < 0)
				buf_char(out, ',');
			else
				csv_cell(out, room);
		}
	}
	buf_printf(out, ",%s\n", now->note);
}

static void csv_head(const struct series *s, struct buf *out)
{
	char name[96];

	buf_text(out, "iteration,time,arena");
	for (unsigned i = 0; i < s->field_count; i++) {
		column_name(s, i, name);
		csv_cell(out, name);
		if (has_share(s, i))
			buf_printf(out, ",%s_percent", s->fields[i].text);
	}
	buf_text(out, ",note\n");
}

static void json_row(struct series *s, size_t iteration, const struct row *now,
		     const struct row *before, double seconds, void *context)
{
	struct json *j = context;
	char room[96];

	json_object(j, NULL);
	json_number(j, "iteration", iteration);
	if (s->iterations[iteration].time_ns != WHEN_NONE)
		json_real(j, "time", (double)s->iterations[iteration].time_ns / 1e9, 6);
	json_text(j, "arena", id_text(now, room));
	for (unsigned i = 0; i < s->field_count && !is_gone(now); i++) {
		struct cell c = cell_of(s, now, before, seconds, i);
		char number[32];

		column_name(s, i, room);
		snprintf(number, sizeof(number), "%" PRId64, c.number);
		if (!c.known)
			json_null(j, room);
		else if (c.real)
			json_real(j, room, c.value, 3);
		else
			json_written(j, room, number, strlen(number));
		snprintf(room, sizeof(room), "%s_percent", s->fields[i].text);
		if (has_share(s, i) && share(s, now, i) >= 0)
			json_real(j, room, share(s, now, i), 2);
	}
	if (*now->note)
		json_text(j, "note", now->note);
	json_end_object(j);
}

static void table_row(struct series *s, size_t iteration, const struct row *now,
		      const struct row *before, double seconds, void *context)
{
	const struct iteration *it = &s->iterations[iteration];
	struct table *t = context;
	char room[64];

	table_cellf(t, "%zu", iteration);
	table_cell(t, it->time_ns == WHEN_NONE ? "-" : when_text(it->time_ns, room));
	table_cell(t, id_text(now, room));
	for (unsigned i = 0; i < s->field_count; i++) {
		struct cell c = { 0 };
		struct human h;

		if (!is_gone(now))
			c = cell_of(s, now, before, seconds, i);
		if (!c.known)
			table_cell(t, "-");
		else if (c.real)
			table_cellf(t, "%.1f", c.value);
		else
			table_cellf(t, "%s%s", c.number < 0 ? "-" : "",
				    human_count(&h, c.number < 0 ? -(uint64_t)c.number
								 : (uint64_t)c.number));
		if (has_share(s, i)) {
			double part = is_gone(now) ? -1 : share(s, now, i);

			if (part < 0)
				table_cell(t, "-");
			else
				table_cellf(t, "%.2f%%", part);
		}
	}
	table_cell(t, now->note);
}

static void print_table(struct series *s, uint64_t first, uint64_t from, uint64_t to,
			struct buf *out)
{
	struct table_column columns[2 * FIELDS_MAX + 5] = { { .title = "iteration" },
							    { .title = "time", .left = true },
							    { .title = "arena" } };
	char names[FIELDS_MAX][96];
	unsigned n = 3;
	struct table t;

	for (unsigned i = 0; i < s->field_count; i++) {
		column_name(s, i, names[i]);
		columns[n++] = (struct table_column){ .title = names[i] };
		if (has_share(s, i))
			columns[n++] = (struct table_column){ .title = "of mapped" };
	}
	columns[n] = (struct table_column){ .title = "note", .left = true };
	table_init(&t, columns);
	each(s, first, from, to, table_row, &t);
	table_print(&t, &s->term, true, out);
	table_release(&t);
}

/* One plot: what each iteration has of one field of one arena. */
struct curve {
	int64_t id;
	unsigned field;
	double *values;
	bool any;
};

struct curves {
	uint64_t from;
	size_t length;
	struct curve *list;
	size_t count, room;
};

static void curve_row(struct series *s, size_t iteration, const struct row *now,
		      const struct row *before, double seconds, void *context)
{
	struct curves *c = context;

	for (unsigned i = 0; i < s->field_count && !is_gone(now); i++) {
		struct cell cell = cell_of(s, now, before, seconds, i);
		struct curve *found = NULL;

		for (size_t k = 0; k < c->count && !found; k++)
			if (c->list[k].id == now->id && c->list[k].field == i)
				found = &c->list[k];
		if (!cell.known)
			continue;
		if (!found) {
			c->list = xgrow(c->list, c->count, &c->room, sizeof(*c->list));
			found = &c->list[c->count++];
			*found = (struct curve){ .id = now->id, .field = i };
			found->values = xcalloc(c->length, sizeof(*found->values));
			for (size_t k = 0; k < c->length; k++)
				found->values[k] = PLOT_NOTHING;
		}
		found->values[iteration - c->from] = cell.value;
	}
}

static void print_plot(struct series *s, uint64_t first, uint64_t from, uint64_t to,
		       struct buf *out)
{
	struct curves c = { .from = from, .length = to > from ? (size_t)(to - from) : 0 };

	each(s, first, from, to, curve_row, &c);
	for (size_t i = 0; i < c.count; i++) {
		struct row id = { .id = c.list[i].id };
		char name[96], title[160], room[24];

		column_name(s, c.list[i].field, name);
		snprintf(title, sizeof(title), "%s%s  %s", id.id == ALL ? "" : "arena ",
			 id_text(&id, room), name);
		plot(out, &s->term, title, c.list[i].values, c.length,
		     s->fields[c.list[i].field].bytes);
		free(c.list[i].values);
	}
	free(c.list);
}

static void print(struct series *s, uint64_t first, uint64_t from, uint64_t to, struct buf *out)
{
	struct json j;

	if (as_csv) {
		csv_head(s, out);
		each(s, first, from, to, csv_row, out);
	} else if (as_json) {
		json_init(&j, out);
		json_object(&j, NULL);
		json_number(&j, "iterations", s->count);
		json_array(&j, "rows");
		each(s, first, from, to, json_row, &j);
		json_end_array(&j);
		json_end_object(&j);
	} else if (as_plot) {
		print_plot(s, first, from, to, out);
	} else {
		print_table(s, first, from, to, out);
	}
}

static bool in_range(const struct series *s, uint64_t from, uint64_t to)
{
	if (to <= s->count && (from < s->count || from >= to))
		return true;
	fprintf(stderr, "memoir %s: there is no iteration %" PRIu64 ": they are 0 to %zu\n",
		s->command, from >= s->count ? from : (uint64_t)s->count, s->count - 1);
	return false;
}

static void release(struct series *s)
{
	free(s->iterations);
	free(s->rows);
	free(s->values);
}

int arenas_series_run(const char *command, enum arenas_series_kind kind, int argc, char **argv)
{
	struct series s = { .command = command, .kind = kind };
	bool del = kind == ARENAS_SERIES_DEL;
	struct buf out = { 0 };
	uint64_t first, from, to;
	int status;

	status = arenas_arguments(&s.args, command, argc, argv, del ? 3 : 2);
	if (!status)
		status = parse_fields(&s);
	if (status)
		return status;
	term_init(&s.term, 1, color);
	if (!s.args.threshold_given)
		s.args.threshold = 0;
	if (load(&s)) {
		release(&s);
		return 1;
	}
	status = s.status;
	first = del ? s.args.number[0] : 0;
	from = del ? s.args.number_count > 1 ? s.args.number[1] : 1 : s.args.number[0];
	to = s.args.number_count > (unsigned)(1 + del) ? s.args.number[1 + del] : s.count;
	if (!in_range(&s, first, first + 1) || !in_range(&s, from, to))
		status = 1;
	else
		print(&s, first, from, to, &out);
	if (buf_flush(&out, 1))
		status = 1;
	buf_release(&out);
	release(&s);
	return status;
}
