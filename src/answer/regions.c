/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question regions: address ranges that hold blocks. */
#include <errno.h>

#include "answer/question.h"
#include "answer/words.h"
#include "base/sink.h"
#include "query/address_space.h"

extern const struct question question_regions;

struct answer_regions {
	struct areas areas;
	struct area heap; /* of glibc's main arena */
};

static bool regions_are_many(const struct ask *a)
{
	return true;
}

static int regions_compute(struct ask *a, void *answer)
{
	const struct model *m = a->snapshot->model;
	const struct view *v = ask_view(a);
	struct answer_regions *ret = answer;
	uint64_t ns;

	if (!v)
		return -EINVAL;
	ret->heap = address_space_main_heap(v);
	areas_exact(&ret->areas, v, ask_time(a, "at", m, &ns) ? measure_stamp(m, ns) : NEVER);
	return 0;
}

static void regions_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_regions *r = answer;

	json_number(j, "main_heap_start", r->heap.start);
	json_number(j, "main_heap_end", r->heap.end);
	words_address(j, "main_heap_start_s", r->heap.start);
	words_address(j, "main_heap_end_s", r->heap.end);
	json_number(j, "total_count", r->areas.count);
	json_array(j, "regions");
	for (size_t i = 0; i < r->areas.count && !sink_turn(out); i++) {
		json_array(j, NULL);
		json_number(j, NULL, r->areas.rows[i].start);
		json_number(j, NULL, r->areas.rows[i].end);
		json_end_array(j);
	}
	json_end_array(j);
}

static void regions_drop(void *answer)
{
	areas_release(&((struct answer_regions *)answer)->areas);
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL, "only what was alive then" },
	{ 0 },
};

const struct question question_regions = {
	.name = "regions",
	.help = "address ranges that hold blocks",
	.params = params,
	.filters = true,
	.is_long = regions_are_many,
	.size = sizeof(struct answer_regions),
	.compute = regions_compute,
	.write_members = regions_json,
	.release = regions_drop,
};
