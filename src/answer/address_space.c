/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question address_space: how full addresses are over time, and what of them is resident. */
#include "answer/address_space.h"

#include <errno.h>

#include "answer/words.h"
#include "base/sink.h"
#include "query/residency.h"
#include "query/value.h"

#define COLUMNS_MOST 1000
#define ROWS_MOST 2000

static void write_area(struct json *j, const struct address_space *s, size_t i)
{
	const struct area *a = &s->areas.rows[i];
	uint32_t first = s->first_row[i], rows = s->first_row[i + 1] - first;

	json_object(j, NULL);
	JSON_MEMBERS(j, a, start, end);
	words_address(j, "start_s", a->start);
	words_address(j, "end_s", a->end);
	json_number(j, "cell_bytes", s->cell);
	json_number(j, "rows", rows);
	JSON_EACH(j, "cells", k, (size_t)rows * s->columns)
		json_number(j, NULL, s->cells[(size_t)first * s->columns + k]);
	if (s->resident)
		JSON_EACH(j, "resident", k, (size_t)rows * s->columns)
			json_number(j, NULL, s->resident[(size_t)first * s->columns + k]);
	json_end_object(j);
}

/* A bound of addresses that is a filter, too: 0, or -EINVAL after ask_fail(). */
static int bound_of(struct ask *a, const char *name, uint64_t *ret)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct value v;

	if (!ask_has(a, name))
		return 0;
	if (value_parse(&v, ARG_ADDRESS, ask_text(a, name), &err))
		return ask_fail_err(a, name, &err);
	*ret = v.number;
	value_release(&v);
	return 0;
}

static int address_space_compute(struct ask *a, void *answer)
{
	const struct view *v = ask_view(a);
	struct address_space_options o = { .rows = ask_count(a, "rows"),
					   .columns = ask_count(a, "columns"),
					   .resident = ask_bool(a, "resident"),
					   .high = UINT64_MAX };

	if (!v || bound_of(a, "address_min", &o.low) || bound_of(a, "address_max", &o.high))
		return -EINVAL;
	/* Whole pages; the filter's bound is the last address. */
	o.low -= o.low % RESIDENCY_PAGE;
	if (o.high < UINT64_MAX - RESIDENCY_PAGE)
		o.high += RESIDENCY_PAGE - o.high % RESIDENCY_PAGE;
	address_space_init(answer, v, &o);
	return 0;
}

static void address_space_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct model *m = a->snapshot->model;
	const struct address_space *s = answer;

	json_number(j, "from_ns", model_ns(m, s->from));
	json_number(j, "to_ns", model_ns(m, s->to));
	JSON_EACH(j, "xs_ns", i, s->columns + 1)
		json_number(j, NULL,
			    model_ns(m, s->from + (uint64_t)((double)(s->to - s->from) * i /
							     s->columns)));
	JSON_MEMBERS(j, s, columns, rows);
	JSON_EACH(j, "areas", i, s->areas.count) {
		write_area(j, s, i);
		sink_turn(out);
	}
}

static void address_space_drop(void *answer)
{
	address_space_release(answer);
}

static const struct param_row params[] = {
	{ "columns", PARAM_COUNT, "200", "steps of time", .max = COLUMNS_MOST },
	{ "rows", PARAM_COUNT, "256", "cells of addresses in all areas", .max = ROWS_MOST },
	{ "resident", PARAM_BOOL, "false",
	  "what was resident, too, and all addresses where it was" },
	{ 0 },
};

const struct question question_address_space = {
	.name = "address_space",
	.help = "how full addresses are over time",
	.params = params,
	.filters = true,
	.prefetch = (const struct prefetch[]){ { 17, "columns=300&rows=320" }, { 0 } },
	.size = sizeof(struct address_space),
	.compute = address_space_compute,
	.write_members = address_space_json,
	.release = address_space_drop,
};
