/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bench_query RECORDING: how long pages of allocations and groups take, the opening excluded.
 *
 * Prints JSON: for each question the milliseconds of the first answer, the median of five more, and
 * their mean processor time.
 * The first group question of a recording also makes what is then kept with it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/xalloc.h"
#include "query/group.h"
#include "query/sort.h"

#define REPEATS 5
#define PAGE 20

struct timed_question {
	const char *name, *filter, *by, *sort; /* by NULL: single allocations */
};

static const struct timed_question questions[] = {
	{ "stacks by size, everything", "", "stack", "size" },
	{ "stacks by size, filtered", "size >= 100 and lifetime < 10ms and not leaked", "stack",
	  "size" },
	{ "stacks by leaked bytes, of a time span", "allocated >= 20% and allocated <= 80%",
	  "stack", "leaked" },
	{ "stacks by own peak, group filter", "group_allocations >= 100", "stack", "peak_size" },
	{ "functions, filtered", "size >= 64 and lifetime >= 1us", "function", "self.size" },
	{ "responsible functions, filtered", "size >= 64", "responsible", "size" },
	{ "threads, filtered", "size < 1k", "thread", "size" },
	{ "size classes, alive at one time", "alive_at(50%)", "size_class", "key" },
	{ "allocations by size, filtered", "lifetime >= 100us or chain_length >= 2", NULL, "size" },
	{ "allocations by lifetime, everything", "", NULL, "lifetime" },
	{ "allocations by time, by chain", "first_size <= 200 and last_size >= 400", NULL,
	  "timestamp" },
};

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint32_t answer(const struct model *m, struct locations *p, const struct timed_question *q)
{
	struct filter *f = filter_new();
	struct err err = { 0 };
	struct view *v;
	struct page page;
	uint32_t count;

	if (filter_parse(f, q->filter, &err)) {
		fprintf(stderr, "%s: %s\n", q->filter, err.text);
		exit(1);
	}
	v = view_new(m, p, f, &err);
	if (!v)
		exit(1);
	if (q->by) {
		const struct group_key *key = group_key_find(q->by);
		struct groups *g = groups_new(v, key);
		struct group_sort sort;

		if (!group_sort_find(key, q->sort, &sort))
			exit(1);
		page = groups_page(g, sort, true, 0, PAGE);
		groups_free(g);
	} else {
		page = sort_page(v, sort_field(q->sort), true, 0, PAGE);
	}
	free(page.rows);
	count = v->count;
	view_free(v);
	filter_free(f);
	return count;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	struct model_options options = { .workers = MODEL_WORKERS_AUTO };
	struct locations *p;
	struct model *m;
	struct err err;

	if (argc != 2 || model_open(&m, argv[1], &err)) {
		fprintf(stderr, "bench_query RECORDING\n");
		return 2;
	}
	model_load(m, &options);
	model_finish(m);
	p = locations_new(m, NULL);
	locations_resolve_all(p);
	printf("{\"allocations\": %u, \"questions\": [", m->allocations.count);
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		double times[REPEATS], start = now_ms(CLOCK_MONOTONIC), first, cpu;
		uint32_t matched = answer(m, p, &questions[i]);

		first = now_ms(CLOCK_MONOTONIC) - start;
		cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
		for (unsigned k = 0; k < REPEATS; k++) {
			start = now_ms(CLOCK_MONOTONIC);
			answer(m, p, &questions[i]);
			times[k] = now_ms(CLOCK_MONOTONIC) - start;
		}
		cpu = (now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu) / REPEATS;
		qsort(times, REPEATS, sizeof(*times), by_value);
		printf("%s\n {\"name\": \"%s\", \"matched\": %u, \"first_ms\": %.1f, \"ms\": %.1f, "
		       "\"cpu_ms\": %.1f}",
		       i ? "," : "", questions[i].name, matched, first, times[REPEATS / 2], cpu);
		fflush(stdout);
	}
	printf("\n]}\n");
	locations_free(p);
	model_free(m);
	return 0;
}
