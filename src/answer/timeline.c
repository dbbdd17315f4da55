/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question timeline: what was alive, allocated and freed over time. */
#include "answer/timeline.h"

#include <errno.h>

#include "base/sink.h"

#define POINTS_MAX 20000

typedef double (*point_value)(const struct answer_timeline *t, uint32_t i);

static uint64_t edge_ns(const struct answer_timeline *t, uint32_t i)
{
	return model_ns(t->model, series_edge(&t->series, i));
}

/* The last point is the end: what is alive there, and nothing happens in it. */
static const struct series_point *point(const struct answer_timeline *t, uint32_t i, bool *ret_end)
{
	*ret_end = i == t->series.count;
	return &t->series.points[*ret_end ? i - 1 : i];
}

static double start_ms(const struct answer_timeline *t)
{
	return (double)model_start_ns(t->model) / 1e6;
}

/* Whole ones, which clients read into integers; xs_ns is exact. */
static double value_ms(const struct answer_timeline *t, uint32_t i)
{
	return (double)((model_start_ns(t->model) + edge_ns(t, i)) / 1000000);
}

static double value_ns(const struct answer_timeline *t, uint32_t i)
{
	return (double)edge_ns(t, i);
}

static double value_most_at(const struct answer_timeline *t, uint32_t i)
{
	bool end;
	const struct series_point *p = point(t, i, &end);

	return (double)(end || !p->most_at ? edge_ns(t, i) : model_ns(t->model, p->most_at));
}

/* Figures of a point; those of what happens are 0 at the end. */
#define VALUE(name, at_end, inside)                                                                \
	static double value_##name(const struct answer_timeline *t, uint32_t i)                    \
	{                                                                                          \
		bool end;                                                                          \
		const struct series_point *p = point(t, i, &end);                                  \
                                                                                                   \
		return (double)(end ? (at_end) : (inside));                                        \
	}
VALUE(size, p->bytes, p->most_bytes)
VALUE(count, p->count, p->most_count)
VALUE(end_size, p->bytes, p->bytes)
VALUE(end_count, p->count, p->count)
VALUE(allocations, 0, p->allocated_count)
VALUE(deallocations, 0, p->freed_count)
VALUE(allocated_bytes, 0, p->allocated_bytes)
VALUE(freed_bytes, 0, p->freed_bytes)
VALUE(leaked_size, p->leaked_bytes, p->leaked_bytes)
VALUE(leaked_count, p->leaked_count, p->leaked_count)
VALUE(allocation_rate, 0, t->seconds > 0 ? (double)p->allocated_count / t->seconds : 0)
VALUE(deallocation_rate, 0, t->seconds > 0 ? (double)p->freed_count / t->seconds : 0)
VALUE(byte_rate, 0, t->seconds > 0 ? (double)p->allocated_bytes / t->seconds : 0)

static double value_size_delta(const struct answer_timeline *t, uint32_t i)
{
	uint64_t before = i ? t->series.points[i - 1].bytes : t->series.before.bytes;

	return i == t->series.count ? 0 : (double)(int64_t)(t->series.points[i].bytes - before);
}

static double value_count_delta(const struct answer_timeline *t, uint32_t i)
{
	uint64_t before = i ? t->series.points[i - 1].count : t->series.before.count;

	return i == t->series.count ? 0 : (double)(int64_t)(t->series.points[i].count - before);
}

static const struct {
	const char *name;
	point_value value;
	unsigned digits;
} arrays[] = {
	{ "xs", value_ms, 0 },
	{ "size_delta", value_size_delta, 0 },
	{ "count_delta", value_count_delta, 0 },
	{ "allocated_size", value_size, 0 },
	{ "allocated_count", value_count, 0 },
	{ "allocations", value_allocations, 0 },
	{ "deallocations", value_deallocations, 0 },
	{ "xs_ns", value_ns, 0 },
	{ "most_at_ns", value_most_at, 0 },
	{ "end_size", value_end_size, 0 },
	{ "end_count", value_end_count, 0 },
	{ "allocated_bytes", value_allocated_bytes, 0 },
	{ "freed_bytes", value_freed_bytes, 0 },
	{ "leaked_size", value_leaked_size, 0 },
	{ "leaked_count", value_leaked_count, 0 },
	{ "allocations_per_second", value_allocation_rate, 1 },
	{ "deallocations_per_second", value_deallocation_rate, 1 },
	{ "bytes_per_second", value_byte_rate, 1 },
};

static void write_peak(struct json *j, const struct answer_timeline *t)
{
	const struct series_point *most = &t->series.points[0];

	for (uint32_t i = 1; i < t->series.count; i++)
		if (t->series.points[i].most_bytes > most->most_bytes)
			most = &t->series.points[i];
	json_object(j, "peak");
	json_number(j, "bytes", most->most_bytes);
	json_number(j, "count", most->most_bytes_count);
	json_number(j, "at_ns", most->most_bytes ? model_ns(t->model, most->most_at) : 0);
	json_end_object(j);
}

static void timeline_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_timeline *t = answer;

	for (size_t k = 0; k < sizeof(arrays) / sizeof(*arrays); k++) {
		JSON_EACH(j, arrays[k].name, i, t->series.count + 1)
			json_real(j, NULL, arrays[k].value(t, i), arrays[k].digits);
		sink_turn(out);
	}
	json_number(j, "from_ns", edge_ns(t, 0));
	json_number(j, "to_ns", edge_ns(t, t->series.count));
	json_real(j, "start_ms", start_ms(t), 6);
	json_real(j, "bucket_ns", t->seconds * 1e9, 0);
	json_object(j, "before");
	JSON_MEMBERS(j, &t->series.before, bytes, count);
	json_end_object(j);
	write_peak(j, t);
}

/* Which stretch: 0, or -EINVAL after ask_fail(). */
static int find_stretch(struct ask *a, const struct model *m, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t ns;

	series_whole(m, ret_from, ret_to);
	if (ask_time(a, "from", m, &ns))
		*ret_from = measure_stamp(m, ns);
	if (ask_time(a, "to", m, &ns))
		*ret_to = measure_stamp(m, ns);
	if (*ret_to > *ret_from)
		return 0;
	return ask_fail(a, 400, ask_has(a, "to") ? "to" : "from",
			"there is nothing between from and to");
}

static int timeline_compute(struct ask *a, void *answer)
{
	struct answer_timeline *t = answer;
	uint32_t points = ask_count(a, "points");
	const struct view *v;
	uint64_t from, to;

	t->model = a->snapshot->model;
	if (find_stretch(a, t->model, &from, &to) || !(v = ask_view(a)))
		return -EINVAL;
	series_init(&t->series, v, from, to, points ? points : 1);
	t->seconds =
		(double)(model_ns(t->model, to) - model_ns(t->model, from)) / 1e9 / t->series.count;
	return 0;
}

static void timeline_drop(void *answer)
{
	series_release(&((struct answer_timeline *)answer)->series);
}

const struct param_row timeline_params[] = {
	{ "points", PARAM_COUNT, "1000", "parts of the time", .max = POINTS_MAX, .letter = 'n',
	  .option = "buckets" },
	{ "from", PARAM_TIME, NULL, "the first moment that is shown: 1.5s after the start, 50%" },
	{ "to", PARAM_TIME, NULL, "the last one" },
	{ 0 },
};

const struct question question_timeline = {
	.name = "timeline",
	.help = "what was alive, allocated and freed over time",
	.params = timeline_params,
	.filters = true,
	.prefetch = (const struct prefetch[]){ { 1, "" }, { 0 } },
	.size = sizeof(struct answer_timeline),
	.compute = timeline_compute,
	.write_members = timeline_json,
	.release = timeline_drop,
};
