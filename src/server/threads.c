/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/threads: what each thread allocated, kept and left to others. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/spark.h"
#include "server/request.h"

#define SPARK_MAX 200

#define THREAD_NUMBERS(X)                                                                          \
	X(allocated_bytes)                                                                         \
	X(allocated_count)                                                                         \
	X(leaked_bytes)                                                                            \
	X(leaked_count)                                                                            \
	X(peak_bytes)                                                                              \
	X(peak_count)                                                                              \
	X(temporary_bytes)                                                                         \
	X(temporary_count)                                                                         \
	X(freed_by_other_bytes)                                                                    \
	X(freed_by_other_count)                                                                    \
	X(first_ns)                                                                                \
	X(last_ns)

struct thread_sums {
#define X(name) uint64_t name;
	THREAD_NUMBERS(X)
#undef X
};

struct summing {
	const struct view *v;
	struct measuring peak;
	size_t threads;
	struct thread_sums **sums; /* by worker, then by thread; first and last are stamps */
};

static void sum_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct summing *s = context;
	const struct columns *c = &s->v->model->allocations;
	bool has_peak = s->v->model->totals.peak_bytes;

	VIEW_EACH(s->v, first, count, row)
	{
		uint64_t size = columns_size(c, row), tags = c->tags[row];
		struct thread_sums *t = &s->sums[worker][tags_thread(tags)];
		bool freed = c->freed_at[row] != NEVER;

		if (!t->allocated_count || c->allocated_at[row] < t->first_ns)
			t->first_ns = c->allocated_at[row];
		if (c->allocated_at[row] > t->last_ns)
			t->last_ns = c->allocated_at[row];
		t->allocated_bytes += size;
		t->allocated_count++;
		if (!freed) {
			t->leaked_bytes += size;
			t->leaked_count++;
		} else if (!(tags_flags(tags) & TAG_FREE_LOST) &&
			   tags_free_thread(tags) != tags_thread(tags)) {
			t->freed_by_other_bytes += size;
			t->freed_by_other_count++;
		}
		if (has_peak && measuring_takes(&s->peak, c, row)) {
			t->peak_bytes += size;
			t->peak_count++;
		}
		if (tags_flags(tags) & TAG_TEMPORARY) {
			t->temporary_bytes += size;
			t->temporary_count++;
		}
	}
}

static void add(struct thread_sums *to, const struct thread_sums *t)
{
	uint64_t first = to->first_ns, last = to->last_ns;
	bool fresh = !to->allocated_count;

	if (!t->allocated_count)
		return;
#define X(name) to->name += t->name;
	THREAD_NUMBERS(X)
#undef X
	to->first_ns = fresh || t->first_ns < first ? t->first_ns : first;
	to->last_ns = t->last_ns > last ? t->last_ns : last;
}

static struct thread_sums *sum(const struct view *v)
{
	const struct model *m = v->model;
	unsigned workers = parallel_workers();
	struct summing s = { .v = v,
			     .peak = measuring_of(m, MEASURE_PEAK, 0),
			     .threads = m->tables.threads.count };
	struct thread_sums *all;

	s.sums = xcalloc(workers, sizeof(*s.sums));
	for (unsigned i = 0; i < workers; i++)
		s.sums[i] = xcalloc(s.threads + 1, sizeof(**s.sums));
	parallel_for(m->allocations.count, VIEW_BLOCK, sum_block, &s);
	all = s.sums[0];
	for (unsigned i = 1; i < workers; i++) {
		for (size_t k = 0; k < s.threads; k++)
			add(&all[k], &s.sums[i][k]);
		free(s.sums[i]);
	}
	free(s.sums);
	for (size_t k = 0; k < s.threads; k++)
		if (all[k].allocated_count) {
			all[k].first_ns = model_ns(m, all[k].first_ns);
			all[k].last_ns = model_ns(m, all[k].last_ns);
		}
	return all;
}

struct listing {
	const struct model *m;
	const struct thread_sums *sums;
	size_t offset; /* of the number that orders; SIZE_MAX: the name; SIZE_MAX - 1: the id */
	bool descending;
};

#define BY_NAME SIZE_MAX
#define BY_ID (SIZE_MAX - 1)

static int compare(const void *a, const void *b, void *listing)
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

static void write_thread(struct json *j, const struct listing *l, uint32_t row,
			 const struct sparks *sparks, uint32_t curve)
{
	const struct thread *t = &l->m->tables.threads.rows[row];

	json_object(j, NULL);
	json_number(j, "thread", t->tid);
	json_text(j, "name", t->name);
#define X(name) json_number(j, #name, l->sums[row].name);
	THREAD_NUMBERS(X)
#undef X
	json_array(j, "spark");
	for (uint32_t i = 0; i < sparks->points; i++)
		json_real(j, NULL, (double)sparks->values[(size_t)curve * sparks->points + i], 0);
	json_end_array(j);
	json_end_object(j);
}

static int answer(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct view *v = ask_view(&r->ask);
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count"), n = 0,
		 shown;
	size_t threads = m->tables.threads.count;
	struct listing l = { .m = m,
			     .offset = offset_of(ask_text(&r->ask, "sort_by")),
			     .descending = ask_descending(&r->ask) };
	struct sparks sparks = { .view = v,
				 .by_thread = true,
				 .points = ask_count(&r->ask, "spark") };
	struct thread_sums *sums;
	uint32_t *order, *curve_of;
	struct json j;

	if (!v)
		return -1;
	l.sums = sums = sum(v);
	order = xcalloc(threads + 1, sizeof(*order));
	curve_of = xcalloc(threads + 1, sizeof(*curve_of));
	memset(curve_of, 0xff, (threads + 1) * sizeof(*curve_of));
	for (uint32_t i = 0; i < threads; i++)
		if (sums[i].allocated_count)
			order[n++] = i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), compare, &l);
	skip = skip < n ? skip : n;
	shown = n - skip < most ? n - skip : most;
	for (uint32_t i = 0; i < shown; i++)
		curve_of[order[skip + i]] = i;
	sparks.curve_of = curve_of;
	sparks.curves = shown;
	if (sparks.points)
		sparks_draw(&sparks);
	request_json(&j, out);
	json_object(&j, NULL);
	json_array(&j, "threads");
	for (uint32_t i = 0; i < shown; i++) {
		write_thread(&j, &l, order[skip + i], &sparks, i);
		sink_turn(out);
	}
	json_end_array(&j);
	json_number(&j, "total_count", n);
	json_end_object(&j);
	sparks_release(&sparks);
	free(curve_of);
	free(order);
	free(sums);
	return 0;
}

static const struct param_row params[] = {
	{ "sort_by", PARAM_CHOICE, "allocated_bytes", "one of the fields",
	  .values = "thread|name|allocated_bytes|allocated_count|leaked_bytes|leaked_count|"
		    "peak_bytes|peak_count|temporary_bytes|temporary_count|freed_by_other_bytes|"
		    "freed_by_other_count|first_ns|last_ns" },
	PARAM_ORDER("dsc"),
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },
	{ "count", PARAM_COUNT, "200", "rows at most", .max = 1000 },
	{ "spark", PARAM_COUNT, "60", "figures of spark", .max = SPARK_MAX },
	{ 0 },
};

const struct route routes_threads[] = {
	{ "/data/{id}/threads", METHOD_GET, "what each thread allocated, kept and left to others",
	  .params = params, .filters = true, .answer = answer },
	{ 0 },
};
