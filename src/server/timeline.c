/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/timeline, /timeline_leaked: what was alive, allocated and freed over time. */
#include <string.h>

#include "query/series.h"
#include "server/request.h"

#define POINTS_MAX 20000

struct shown {
	const struct model *m;
	struct series s;
	double seconds; /* of a bucket */
};

typedef double (*point_value)(const struct shown *t, uint32_t i);

static uint64_t edge_ns(const struct shown *t, uint32_t i)
{
	return model_ns(t->m, series_edge(&t->s, i));
}

/* The last point is the end: what is alive there, and nothing happens in it. */
static const struct series_point *point(const struct shown *t, uint32_t i, bool *ret_end)
{
	*ret_end = i == t->s.count;
	return &t->s.points[*ret_end ? i - 1 : i];
}

static double start_ms(const struct shown *t)
{
	return (double)model_start_ns(t->m) / 1e6;
}

/* Whole ones, which clients read into integers; xs_ns is exact. */
static double value_ms(const struct shown *t, uint32_t i)
{
	return (double)((model_start_ns(t->m) + edge_ns(t, i)) / 1000000);
}

static double value_ns(const struct shown *t, uint32_t i)
{
	return (double)edge_ns(t, i);
}

static double value_most_at(const struct shown *t, uint32_t i)
{
	bool end;
	const struct series_point *p = point(t, i, &end);

	return (double)(end || !p->most_at ? edge_ns(t, i) : model_ns(t->m, p->most_at));
}

/* Figures of a point; those of what happens are 0 at the end. */
#define VALUE(name, at_end, inside)                                                                \
	static double value_##name(const struct shown *t, uint32_t i)                              \
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

static double value_size_delta(const struct shown *t, uint32_t i)
{
	uint64_t before = i ? t->s.points[i - 1].bytes : t->s.before.bytes;

	return i == t->s.count ? 0 : (double)(int64_t)(t->s.points[i].bytes - before);
}

static double value_count_delta(const struct shown *t, uint32_t i)
{
	uint64_t before = i ? t->s.points[i - 1].count : t->s.before.count;

	return i == t->s.count ? 0 : (double)(int64_t)(t->s.points[i].count - before);
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

static void write_peak(struct json *j, const struct shown *t)
{
	const struct series_point *most = &t->s.points[0];

	for (uint32_t i = 1; i < t->s.count; i++)
		if (t->s.points[i].most_bytes > most->most_bytes)
			most = &t->s.points[i];
	json_object(j, "peak");
	json_number(j, "bytes", most->most_bytes);
	json_number(j, "count", most->most_bytes_count);
	json_number(j, "at_ns", most->most_bytes ? model_ns(t->m, most->most_at) : 0);
	json_end_object(j);
}

static void write_series(const struct shown *t, struct sink *out)
{
	struct json j;

	request_json(&j, out);
	json_object(&j, NULL);
	for (size_t a = 0; a < sizeof(arrays) / sizeof(*arrays); a++) {
		json_array(&j, arrays[a].name);
		for (uint32_t i = 0; i <= t->s.count; i++)
			json_real(&j, NULL, arrays[a].value(t, i), arrays[a].digits);
		json_end_array(&j);
		sink_turn(out);
	}
	json_number(&j, "from_ns", edge_ns(t, 0));
	json_number(&j, "to_ns", edge_ns(t, t->s.count));
	json_real(&j, "start_ms", start_ms(t), 6);
	json_real(&j, "bucket_ns", t->seconds * 1e9, 0);
	write_peak(&j, t);
	json_end_object(&j);
}

/* Which stretch: 0, or after ask_fail(&->ask). */
static int find_stretch(struct request *r, const struct model *m, uint64_t *ret_from,
			uint64_t *ret_to)
{
	uint64_t ns;

	series_whole(m, ret_from, ret_to);
	if (ask_time(&r->ask, "from", m, &ns))
		*ret_from = measure_stamp(m, ns);
	if (ask_time(&r->ask, "to", m, &ns))
		*ret_to = measure_stamp(m, ns);
	if (*ret_to > *ret_from)
		return 0;
	return ask_fail(&r->ask, 400, ask_has(&r->ask, "to") ? "to" : "from",
			"there is nothing between from and to");
}

static int answer(struct request *r, struct sink *out)
{
	struct shown t = { .m = r->ask.snapshot->model };
	const struct view *v;
	uint64_t from, to;
	uint32_t points = ask_count(&r->ask, "points");

	if (find_stretch(r, t.m, &from, &to))
		return -1;
	v = ask_view(&r->ask);
	if (!v)
		return -1;
	series_init(&t.s, v, from, to, points ? points : 1);
	t.seconds = (double)(model_ns(t.m, to) - model_ns(t.m, from)) / 1e9 / t.s.count;
	write_series(&t, out);
	series_release(&t.s);
	return 0;
}

static int answer_leaked(struct request *r, struct sink *out)
{
	if (!r->ask.filter)
		r->ask.filter = filter_new();
	filter_parse(r->ask.filter, "leaked", NULL);
	return answer(r, out);
}

static const struct param_row params[] = {
	{ "points", PARAM_COUNT, "1000", "buckets", .max = POINTS_MAX },
	{ "from", PARAM_TIME, NULL, "the first moment that is shown" },
	{ "to", PARAM_TIME, NULL, "the last one" },
	{ 0 },
};

const struct route routes_timeline[] = {
	{ "/data/{id}/timeline", METHOD_GET, "what was alive, allocated and freed over time",
	  .params = params, .filters = true, .answer = answer },
	{ "/data/{id}/timeline_leaked", METHOD_GET, "the same of what is never freed",
	  .params = params, .filters = true, .answer = answer_leaked },
	{ 0 },
};
