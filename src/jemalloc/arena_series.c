/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Series of arenas.  See arena_series.h. */
#include "jemalloc/arena_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "jemalloc/jemdata.h"
#include "jemalloc/merge.h"

int arena_series_init(struct arena_series *s, const char *fields, bool totals, struct err *err)
{
	*s = (struct arena_series){ .totals = totals };
	for (;; fields++) {
		size_t n = strcspn(fields, ",");
		struct fields_name *f = &s->fields[s->field_count++];
		int error = fields_parse(f, fields, n, err);

		if (error)
			return error;
		s->totals |= f->kind == FIELDS_TOTAL;
		s->arenas |= f->kind != FIELDS_TOTAL;
		fields += n;
		if (!*fields)
			return 0;
		if (s->field_count == ARENA_SERIES_FIELDS)
			return err_set(err, -EINVAL, "at most %d fields", ARENA_SERIES_FIELDS);
	}
}

void arena_series_release(struct arena_series *s)
{
	free(s->iterations);
	free(s->rows);
	free(s->values);
}

static struct arena_series_iteration *add_iteration(struct arena_series *s)
{
	s->iterations = xgrow(s->iterations, s->count, &s->room, sizeof(*s->iterations));
	s->iterations[s->count] = (struct arena_series_iteration){ .time_ns = WHEN_NONE,
								   .uptime = STATS_NONE,
								   .first = s->row_count };
	return &s->iterations[s->count++];
}

/* A row of the last iteration, and its numbers, which are not known yet. */
static uint64_t *add_row(struct arena_series *s, int64_t id)
{
	*xpush(s->rows, s->row_count, s->row_room) =
		(struct arena_series_row){ id, s->value_count };
	s->iterations[s->count - 1].count++;
	for (unsigned i = 0; i < s->field_count; i++) {
		*xpush(s->values, s->value_count, s->value_room) = STATS_NONE;
	}
	return s->values + s->value_count - s->field_count;
}

static void add_arena(struct arena_series *s, const struct stats *stats,
		      const struct stats_arena *a, int64_t id)
{
	uint64_t *values = add_row(s, id);

	for (unsigned i = 0; i < s->field_count; i++)
		if (s->fields[i].kind != FIELDS_TOTAL || id == ARENA_SERIES_ALL)
			values[i] = fields_value(&s->fields[i], stats, a);
}

ORDER(by_id, struct arena_series_row, RISING(id))

static void sort_rows(struct arena_series *s, const struct arena_series_iteration *it)
{
	SORT(s->rows + it->first, it->count, by_id);
}

void arena_series_add(struct arena_series *s, struct snapshots *r)
{
	static const struct stats_arena nothing;
	const struct stats_arena *whole = s->totals ? stats_merge(&r->stats) : NULL;
	struct arena_series_iteration *it = add_iteration(s);

	it->time_ns = r->time_ns;
	it->uptime = stats_uptime(&r->stats);
	if (whole || !s->arenas)
		add_arena(s, &r->stats, whole ? whole : &nothing, ARENA_SERIES_ALL);
	for (size_t i = 0; i < r->stats.arena_count && s->arenas; i++)
		if (r->stats.arenas[i].id >= 0)
			add_arena(s, &r->stats, &r->stats.arenas[i], r->stats.arenas[i].id);
	sort_rows(s, it);
}

/* Where jemdata_read() hands what it finds. */
static void take_iteration(void *context)
{
	struct arena_series *s = context;

	add_iteration(s);
	if (s->totals)
		add_row(s, ARENA_SERIES_ALL);
}

static void take_arena(void *context, uint64_t id)
{
	if (((const struct arena_series *)context)->arenas)
		add_row(context, (int64_t)id);
}

static void take_value(void *context, bool of_all, enum stats_arena_field field, uint64_t value)
{
	struct arena_series *s = context;

	for (unsigned i = 0; i < s->field_count && (s->totals || !of_all); i++)
		if (s->fields[i].kind == FIELDS_ARENA && s->fields[i].field == (int)field)
			s->values[s->value_count - s->field_count + i] = value;
}

int arena_series_read_jemdata(struct arena_series *s, const char *path, struct err *err)
{
	const struct jemdata_taker to = { s, take_iteration, take_arena, take_value };
	int error = jemdata_read(path, &to, err);

	for (size_t i = 0; i < s->count; i++)
		sort_rows(s, &s->iterations[i]);
	return error;
}

int arena_series_check(const struct arena_series *s, uint64_t from, uint64_t to, struct err *err)
{
	if (to <= s->count && (from < s->count || from >= to))
		return 0;
	return err_set(err, -ERANGE, "there is no iteration %" PRIu64 ": they are 0 to %zu",
		       from >= s->count ? from : (uint64_t)s->count, s->count - 1);
}

const struct arena_series_row *arena_series_find(const struct arena_series *s, size_t iteration,
						 int64_t id)
{
	const struct arena_series_iteration *it = &s->iterations[iteration];
	struct arena_series_row wanted = { .id = id };

	return it->count ? bsearch(&wanted, s->rows + it->first, it->count, sizeof(wanted), by_id)
			 : NULL;
}

/* Seconds between two; 0: nobody knows. */
static double seconds_between(const struct arena_series *s, size_t first, size_t last)
{
	const struct arena_series_iteration *a = &s->iterations[first], *b = &s->iterations[last];

	if (a->time_ns != WHEN_NONE && b->time_ns != WHEN_NONE)
		return (double)(b->time_ns - a->time_ns) / 1e9;
	if (a->uptime < STATS_NONE && b->uptime < STATS_NONE)
		return (double)(int64_t)(b->uptime - a->uptime) / 1e9;
	return 0;
}

static bool is_mapped(const struct fields_name *f)
{
	return !strcmp(f->text, "mapped");
}

static void make_columns(struct arena_table *t, const struct arena_series *s,
			 const struct arena_table_question *q)
{
	bool rates = q->kind == ARENA_SERIES_DEL && q->rates;

	for (unsigned i = 0; i < s->field_count; i++) {
		const struct fields_name *f = &s->fields[i];
		struct arena_table_column *c = &t->columns[t->column_count++];

		*c = (struct arena_table_column){ .bytes = f->bytes,
						  .field = i,
						  .digits = rates ? 3 : 0 };
		snprintf(c->name, sizeof(c->name), "%s%s", f->text,
			 q->kind != ARENA_SERIES_DEL ? ""
			 : rates		     ? "_per_second"
						     : "_delta");
		if (q->kind != ARENA_SERIES_EFF || !f->bytes || is_mapped(f))
			continue;
		c = &t->columns[t->column_count++];
		*c = (struct arena_table_column){ .share = true, .field = i, .digits = 2 };
		snprintf(c->name, sizeof(c->name), "%s_percent", f->text);
	}
}

/* Of what the arena has mapped. */
static struct arena_table_cell share_of(const struct arena_series *s, const uint64_t *now,
					unsigned field)
{
	for (unsigned i = 0; i < s->field_count; i++)
		if (is_mapped(&s->fields[i]) && now[i] < STATS_NONE && now[i] &&
		    now[field] < STATS_NONE)
			return (struct arena_table_cell){
				.known = true, .value = 100.0 * (double)now[field] / (double)now[i]
			};
	return (struct arena_table_cell){ 0 };
}

/* `before` is NULL where there is nothing to compare with. */
static struct arena_table_cell cell_of(const struct arena_table_question *q, uint64_t now,
				       const uint64_t *before, double seconds)
{
	struct arena_table_cell c = { .known = now != STATS_NONE, .number = (int64_t)now };

	if (q->kind == ARENA_SERIES_DEL) {
		c.known = c.known && before && *before != STATS_NONE;
		c.number = c.known ? (int64_t)(now - *before) : 0;
	}
	c.value = (double)c.number;
	if (q->kind == ARENA_SERIES_DEL && q->rates) {
		c.known = c.known && seconds > 0;
		c.value = c.known ? c.value / seconds : 0;
	}
	return c;
}

/* Any of its numbers of bytes reaches the threshold, or it has another one. */
static bool passes(const struct arena_series *s, const struct arena_table_question *q,
		   const uint64_t *now, const uint64_t *before)
{
	for (unsigned i = 0; i < s->field_count; i++) {
		struct arena_table_cell c = cell_of(q, now[i], before ? before + i : NULL, 1);
		uint64_t size = c.number < 0 ? -(uint64_t)c.number : (uint64_t)c.number;

		if (!s->fields[i].bytes || (c.known && size >= q->threshold))
			return true;
	}
	return false;
}

static void add_table_row(struct arena_table *t, const struct arena_series *s,
			  const struct arena_table_question *q, const struct arena_table_row *row,
			  const uint64_t *now, const uint64_t *before, double seconds)
{
	*xpush(t->rows, t->row_count, t->row_room) = *row;
	for (unsigned i = 0; i < t->column_count; i++) {
		const struct arena_table_column *c = &t->columns[i];
		struct arena_table_cell cell = { 0 };

		if (now && c->share)
			cell = share_of(s, now, c->field);
		else if (now)
			cell = cell_of(q, now[c->field], before ? before + c->field : NULL,
				       seconds);
		*xpush(t->cells, t->cell_count, t->cell_room) = cell;
	}
}

static void add_table_rows(struct arena_table *t, const struct arena_series *s,
			   const struct arena_table_question *q, uint64_t iteration)
{
	uint64_t base = q->kind == ARENA_SERIES_DEL && !q->consecutive ? q->first
			: iteration				       ? iteration - 1
								       : iteration;
	const struct arena_series_iteration *it = &s->iterations[iteration];
	double seconds = seconds_between(s, base, iteration);
	struct arena_table_row row = { .iteration = iteration, .time_ns = it->time_ns };

	for (size_t k = it->first; k < it->first + it->count; k++) {
		const struct arena_series_row *before = arena_series_find(s, base, s->rows[k].id);
		const uint64_t *now = s->values + s->rows[k].value;
		const uint64_t *then = before ? s->values + before->value : NULL;

		row.id = s->rows[k].id;
		row.is_new = base != iteration && !before;
		if (row.is_new || passes(s, q, now, then))
			add_table_row(t, s, q, &row, now, then, seconds);
	}
	row.is_new = false;
	row.gone = true;
	it = &s->iterations[base];
	for (size_t k = it->first; base != iteration && k < it->first + it->count; k++) {
		row.id = s->rows[k].id;
		if (!arena_series_find(s, iteration, row.id))
			add_table_row(t, s, q, &row, NULL, NULL, 0);
	}
}

int arena_table_compute(const struct arena_series *s, const struct arena_table_question *q,
			struct arena_table *ret, struct err *err)
{
	int error = arena_series_check(s, q->first, q->first + 1, err);

	*ret = (struct arena_table){ .iterations = s->count };
	if (!error)
		error = arena_series_check(s, q->from, q->to, err);
	if (error)
		return error;
	make_columns(ret, s, q);
	for (uint64_t i = q->from; i < q->to; i++)
		add_table_rows(ret, s, q, i);
	return 0;
}

void arena_table_release(struct arena_table *t)
{
	free(t->rows);
	free(t->cells);
}

const char *arena_table_id(const struct arena_table_row *r, char room[24])
{
	if (r->id == ARENA_SERIES_ALL)
		return "all";
	snprintf(room, 24, "%" PRId64, r->id);
	return room;
}

const char *arena_table_note(const struct arena_table_row *r)
{
	return r->gone ? "gone" : r->is_new ? "new" : "";
}

void arena_table_write_json(struct json *j, const struct arena_table *t)
{
	const struct arena_table_cell *cell = t->cells;
	char room[24];

	json_object(j, NULL);
	json_number(j, "iterations", t->iterations);
	JSON_ROWS(j, "rows", i, t->row_count) {
		const struct arena_table_row *r = &t->rows[i];

		json_number(j, "iteration", r->iteration);
		if (r->time_ns != WHEN_NONE)
			json_real(j, "time", (double)r->time_ns / 1e9, 6);
		json_text(j, "arena", arena_table_id(r, room));
		for (unsigned k = 0; k < t->column_count; k++, cell++) {
			const struct arena_table_column *c = &t->columns[k];

			if (cell->known && c->digits)
				json_real(j, c->name, cell->value, c->digits);
			else if (cell->known)
				json_signed(j, c->name, cell->number);
			else if (!r->gone && !c->share)
				json_null(j, c->name);
		}
		if (r->is_new || r->gone)
			json_text(j, "note", arena_table_note(r));
	}
	json_end_object(j);
}

void arena_table_write_csv(struct buf *out, const struct arena_table *t)
{
	const struct arena_table_cell *cell = t->cells;
	char room[40];

	buf_text(out, "iteration,time,arena");
	for (unsigned k = 0; k < t->column_count; k++)
		csv_cell(out, t->columns[k].name);
	buf_text(out, ",note\n");
	for (size_t i = 0; i < t->row_count; i++) {
		const struct arena_table_row *r = &t->rows[i];

		csv_number(out, r->iteration);
		if (r->time_ns == WHEN_NONE)
			csv_empty(out);
		else
			csv_cell(out, when_text(r->time_ns, room));
		csv_cell(out, arena_table_id(r, room));
		for (unsigned k = 0; k < t->column_count; k++, cell++) {
			if (!cell->known)
				csv_empty(out);
			else if (t->columns[k].digits)
				csv_real(out, cell->value, t->columns[k].digits);
			else
				csv_signed(out, cell->number);
		}
		buf_printf(out, ",%s\n", arena_table_note(r));
	}
}
