/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /dumps/{id}/top: what each function, line, file or address holds by itself and with all that
 * it calls; also the difference of two dumps, by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "server/dump_question.h"

enum { AFTER, BEFORE };

struct row {
	const char *name;
	struct dump_amounts flat[2], cum[2]; /* by side */
};

struct listing {
	const struct dump_question *q;
	struct profile profiles[2];
	unsigned sides;
	struct strings names; /* of both */
	struct row *rows;
	size_t count, room;
	const char *order;
	bool descending;
};

static void add_side(struct listing *l, unsigned side)
{
	const struct profile *p = &l->profiles[side];
	struct top t;

	top_make(&t, p, l->q->measure, false);
	for (size_t i = 0; i < t.count; i++) {
		/* Number 0 is the empty text, which is no name. */
		uint32_t at = strings_add(&l->names, strings_at(&p->names, t.rows[i].name));

		while (l->count <= at) {
			l->rows = xgrow(l->rows, l->count, &l->room, sizeof(*l->rows));
			l->rows[l->count++] = (struct row){ 0 };
		}
		l->rows[at].name = strings_at(&l->names, at);
		l->rows[at].flat[side] = t.rows[i].flat;
		l->rows[at].cum[side] = t.rows[i].cum;
	}
	top_release(&t);
}

/* What orders a row. */
static double key_of(const struct listing *l, const struct row *r)
{
	enum heap_measure m = l->q->measure;
	double flat = heap_amount(&r->flat[AFTER], m), cum = heap_amount(&r->cum[AFTER], m);
	double flat_before = heap_amount(&r->flat[BEFORE], m);
	double cum_before = heap_amount(&r->cum[BEFORE], m);

	if (!strcmp(l->order, "flat_before"))
		return flat_before;
	if (!strcmp(l->order, "cum_before"))
		return cum_before;
	/* The largest change either way. */
	if (!strcmp(l->order, "flat_change"))
		return fabs(flat - flat_before);
	if (!strcmp(l->order, "cum_change"))
		return fabs(cum - cum_before);
	return !strcmp(l->order, "cum") ? cum : flat;
}

static int compare(const void *a, const void *b, void *listing)
{
	const struct listing *l = listing;
	const struct row *x = a, *y = b;
	int order = 0;

	if (strcmp(l->order, "name") != 0) {
		double m = key_of(l, x), n = key_of(l, y);

		order = m < n ? -1 : m > n;
	}
	if (!strcmp(l->order, "name"))
		order = strcmp(x->name, y->name);
	if (order)
		return l->descending ? -order : order;
	return strcmp(x->name, y->name);
}

/* Those that are asked for, in order. */
static void choose(struct listing *l, const char *search)
{
	size_t remaining = 0;

	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i].name && (!search || strcasestr(l->rows[i].name, search)))
			l->rows[remaining++] = l->rows[i];
	l->count = remaining;
	if (remaining > 1)
		qsort_r(l->rows, remaining, sizeof(*l->rows), compare, l);
}

static void write_amounts(struct json *j, const struct dump_question *q, const char *keys[2],
			  const struct dump_amounts *a)
{
	dumps_amount(j, keys[0], dump_question_bytes(q, a));
	dumps_amount(j, keys[1], dump_question_objects(q, a));
}

static void write_rows(struct request *r, struct json *j, struct listing *l, struct sink *out)
{
	static const char *flat[2][2] = { { "flat_bytes", "flat_objects" },
					  { "flat_bytes_before", "flat_objects_before" } };
	static const char *cum[2][2] = { { "cum_bytes", "cum_objects" },
					 { "cum_bytes_before", "cum_objects_before" } };
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");

	json_number(j, "total_count", l->count);
	json_array(j, "rows");
	for (size_t i = skip; i < l->count && i - skip < most; i++) {
		json_object(j, NULL);
		json_text(j, "name", l->rows[i].name);
		for (unsigned side = 0; side < l->sides; side++) {
			write_amounts(j, l->q, flat[side], &l->rows[i].flat[side]);
			write_amounts(j, l->q, cum[side], &l->rows[i].cum[side]);
		}
		json_end_object(j);
		sink_turn(out);
	}
	json_end_array(j);
}

static void write_answer(struct request *r, struct listing *l, struct sink *out)
{
	static const char *keys[2][2] = { { "bytes", "objects" },
					  { "bytes_before", "objects_before" } };
	struct json j;

	request_json(&j, out);
	json_object(&j, NULL);
	dump_question_json(&j, l->q, "base");
	json_object(&j, "total");
	for (unsigned side = 0; side < l->sides; side++)
		write_amounts(&j, l->q, keys[side], &l->profiles[side].total);
	json_end_object(&j);
	write_rows(r, &j, l, out);
	json_end_object(&j);
}

static int answer(struct request *r, struct sink *out)
{
	struct dump_question q;
	struct listing l = { .q = &q,
			     .order = ask_text(&r->ask, "sort_by"),
			     .descending = ask_descending(&r->ask) };
	int error = dump_question_init(&q, r);

	if (!error && !q.base && (strstr(l.order, "before") || strstr(l.order, "change")))
		error = ask_fail(&r->ask, 400, "sort_by",
				 "'%s' is for a difference: base=", l.order);
	strings_init(&l.names);
	for (unsigned side = 0; !error && side < (q.base ? 2 : 1); side++) {
		const struct snapshot *s = side == BEFORE ? q.base : r->ask.snapshot;

		l.sides++;
		error = dump_question_ask(&q, r, s->heap, &l.profiles[side]);
		if (!error)
			add_side(&l, side);
	}
	if (!error) {
		choose(&l, ask_text(&r->ask, "search"));
		write_answer(r, &l, out);
	}
	for (unsigned side = 0; side < l.sides; side++)
		profile_release(&l.profiles[side]);
	strings_release(&l.names);
	free(l.rows);
	dump_question_release(&q);
	return error;
}

static const struct param_row params[] = {
	PARAMS_DUMP,
	{ "sort_by", PARAM_CHOICE, "flat", "what orders; changes by their size, either way",
	  .values = "flat|cum|name|flat_before|cum_before|flat_change|cum_change" },
	PARAM_ORDER("dsc"),
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

const struct route routes_dump_top[] = {
	{ "/dumps/{id}/top", METHOD_GET, "who holds how much of a heap profile", .kind = "heap",
	  .params = params, .answer = answer },
	{ 0 },
};
