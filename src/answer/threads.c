/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question threads: what each thread allocated, kept and left to others. */
#include "answer/threads.h"

#include <errno.h>
#include <string.h>

#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"

struct listing {
	const struct model *m;
	const struct thread_sums *sums;
	size_t offset; /* of the number that orders; SIZE_MAX: the name; SIZE_MAX - 1: the id */
	bool descending;
};

#define BY_NAME SIZE_MAX
#define BY_ID (SIZE_MAX - 1)

static int compare_threads(const void *a, const void *b, void *listing)
{
	const struct listing *l = listing;
	const struct thread *t = l->m->tables.threads.rows;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t m, n;
	int order;

	if (l->offset == BY_NAME) {
		order = strcmp(t[x].name, t[y].name);
	} else {
		m = l->offset == BY_ID ? t[x].tid
				       : *(const uint64_t *)((const char *)&l->sums[x] + l->offset);
		n = l->offset == BY_ID ? t[y].tid
				       : *(const uint64_t *)((const char *)&l->sums[y] + l->offset);
		order = m < n ? -1 : m > n;
	}
	if (order)
		return l->descending ? -order : order;
	return x < y ? -1 : x > y;
}

static size_t offset_of(const char *name)
{
#define X(field)                                                                                   \
	if (!strcmp(name, #field))                                                                 \
		return offsetof(struct thread_sums, field);
	THREAD_NUMBERS(X)
#undef X
	return !strcmp(name, "name") ? BY_NAME : BY_ID;
}

static int threads_compute(struct ask *a, void *answer)
{
	const struct model *m = a->snapshot->model;
	struct answer_threads *ret = answer;
	size_t threads = m->tables.threads.count;
	uint32_t most = ask_count(a, "count");
	struct listing l = { .m = m,
			     .offset = offset_of(ask_text(a, "sort_by")),
			     .descending = ask_descending(a) };
	const struct view *v = ask_view(a);

	if (!v)
		return -EINVAL;
	l.sums = ret->sums = thread_sums(v);
	ret->order = xcalloc(threads + 1, sizeof(*ret->order));
	for (uint32_t i = 0; i < threads; i++)
		if (ret->sums[i].allocated_count)
			ret->order[ret->count++] = i;
	SORT_WITH(ret->order, ret->count, compare_threads, &l);
	ret->skip = ask_count(a, "skip");
	ret->skip = ret->skip < ret->count ? ret->skip : ret->count;
	ret->shown = ret->count - ret->skip < most ? ret->count - ret->skip : most;
	ret->curve_of = xmalloc((threads + 1) * sizeof(*ret->curve_of));
	memset(ret->curve_of, 0xff, (threads + 1) * sizeof(*ret->curve_of));
	for (uint32_t i = 0; i < ret->shown; i++)
		ret->curve_of[ret->order[ret->skip + i]] = i;
	ret->sparks = (struct sparks){ .view = v,
				       .by_thread = true,
				       .points = ask_count(a, "spark"),
				       .curve_of = ret->curve_of,
				       .curves = ret->shown };
	if (ret->sparks.points)
		sparks_draw(&ret->sparks);
	return 0;
}

static void threads_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_threads *t = answer;
	const struct sparks *s = &t->sparks;

	JSON_EACH(j, "threads", i, t->shown) {
		uint32_t row = t->order[t->skip + i];
		const struct thread *thread = &a->snapshot->model->tables.threads.rows[row];

		json_object(j, NULL);
		json_number(j, "thread", thread->tid);
		json_text(j, "name", thread->name);
#define X(name) json_number(j, #name, t->sums[row].name);
		THREAD_NUMBERS(X)
#undef X
		JSON_EACH(j, "spark", k, s->points)
			json_real(j, NULL, (double)s->values[(size_t)i * s->points + k], 0);
		json_end_object(j);
		sink_turn(out);
	}
	json_number(j, "total_count", t->count);
}

static void threads_drop(void *answer)
{
	struct answer_threads *t = answer;

	sparks_release(&t->sparks);
	free(t->curve_of);
	free(t->order);
	free(t->sums);
}

static const struct param_row params[] = {
	{ "sort_by", PARAM_CHOICE, "allocated_bytes", "one of the fields",
	  .values = "thread|name|allocated_bytes|allocated_count|leaked_bytes|leaked_count|"
		    "peak_bytes|peak_count|temporary_bytes|temporary_count|freed_by_other_bytes|"
		    "freed_by_other_count|first_ns|last_ns",
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("dsc"),
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },
	{ "count", PARAM_COUNT, "200", "rows at most", .max = 1000, .letter = 'n' },
	{ "spark", PARAM_COUNT, "60", "figures of spark", .max = SPARK_MAX },
	{ 0 },
};

const struct question question_threads = {
	.name = "threads",
	.help = "what each thread allocated, kept and left to others",
	.params = params,
	.filters = true,
	.prefetch =
		(const struct prefetch[]){
			{ 14, "sort_by=allocated_bytes&order=dsc&skip=0&count=100" }, { 0 } },
	.size = sizeof(struct answer_threads),
	.compute = threads_compute,
	.write_members = threads_json,
	.release = threads_drop,
};
