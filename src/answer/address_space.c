/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question address_space: how full addresses are over time. */
#include "answer/address_space.h"

#include <errno.h>

#include "answer/words.h"
#include "base/sink.h"

#define COLUMNS_MOST 1000
#define ROWS_MOST 2000

static void write_area(struct json *j, const struct address_space *s, size_t i)
{
	const struct area *a = &s->areas.rows[i];
	uint32_t first = s->first_row[i], rows = s->first_row[i + 1] - first;

	json_object(j, NULL);
	json_number(j, "start", a->start);
	json_number(j, "end", a->end);
	words_address(j, "start_s", a->start);
	words_address(j, "end_s", a->end);
	json_number(j, "cell_bytes", s->cell);
	json_number(j, "rows", rows);
	json_array(j, "cells");
	for (size_t k = (size_t)first * s->columns; k < (size_t)(first + rows) * s->columns; k++)
		json_number(j, NULL, s->cells[k]);
	json_end_array(j);
	json_end_object(j);
}

static int address_space_compute(struct ask *a, void *answer)
{
	const struct view *v = ask_view(a);

	if (!v)
		return -EINVAL;
	address_space_init(answer, v, ask_count(a, "columns"), ask_count(a, "rows"));
	return 0;
}

static int address_space_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct model *m = a->snapshot->model;
	const struct address_space *s = answer;

	json_object(j, NULL);
	json_number(j, "from_ns", model_ns(m, s->from));
	json_number(j, "to_ns", model_ns(m, s->to));
	json_array(j, "xs_ns");
	for (uint32_t i = 0; i <= s->columns; i++)
		json_number(j, NULL,
			    model_ns(m, s->from + (uint64_t)((double)(s->to - s->from) * i /
							     s->columns)));
	json_end_array(j);
	json_number(j, "columns", s->columns);
	json_number(j, "rows", s->rows);
	JSON_EACH(j, "areas", i, s->areas.count) {
		write_area(j, s, i);
		sink_turn(out);
	}
	json_end_object(j);
	return 0;
}

static void address_space_drop(void *answer)
{
	address_space_release(answer);
}

static const struct param_row params[] = {
	{ "columns", PARAM_COUNT, "200", "steps of time", .max = COLUMNS_MOST },
	{ "rows", PARAM_COUNT, "256", "cells of addresses in all areas", .max = ROWS_MOST },
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
	.write_json = address_space_json,
	.release = address_space_drop,
};
