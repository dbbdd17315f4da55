/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bench_shapes RECORDING: how long trees, series and the other shapes take, the opening excluded.
 *
 * Prints JSON: for each the milliseconds of the first time and the median of five more.  The first
 * series of a recording also sorts the ends of its blocks, which is then kept with it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "query/fragmentation.h"
#include "query/histogram.h"
#include "query/peaks.h"
#include "query/series.h"
#include "query/tree.h"
#include "query/verdict.h"

#define REPEATS 5
#define BUCKETS 1000

static double now_ms(void)
{
	struct timespec t;

	/* On a busy machine, processor time of all threads tells more. */
	clock_gettime(getenv("CPU") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void tree(const struct view *v, struct tree_options o, enum measure measure)
{
	struct tree t;

	o.measuring = measuring_of(v->model, measure, 0);
	tree_init(&t, v, &o);
	tree_release(&t);
}

static void flame_graph(const struct view *v)
{
	tree(v, (struct tree_options){ 0 }, MEASURE_ALLOCATED);
}

static void flame_graph_of_peak(const struct view *v)
{
	tree(v, (struct tree_options){ 0 }, MEASURE_PEAK);
}

static void callers(const struct view *v)
{
	tree(v, (struct tree_options){ .bottom_up = true, .min_share = 0.001 }, MEASURE_ALLOCATED);
}

static void threads(const struct view *v)
{
	tree(v, (struct tree_options){ .by_thread = true, .min_share = 0.001 }, MEASURE_ALLOCATED);
}

static void whole_series(const struct view *v)
{
	uint64_t from, to;
	struct series s;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from, to, BUCKETS);
	series_release(&s);
}

static void zoomed_series(const struct view *v)
{
	uint64_t from, to;
	struct series s;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from + (to - from) / 2, from + (to - from) / 4 * 3, BUCKETS);
	series_release(&s);
}

static void histogram(const struct view *v)
{
	struct measuring how = measuring_of(v->model, MEASURE_ALLOCATED, 0);
	struct histogram h;

	histogram_init(&h, v, &how, HISTOGRAM_SIZE);
	histogram_release(&h);
}

static void peaks(const struct view *v)
{
	free(peaks_of_stacks(v->model));
}

static void verdicts(const struct view *v)
{
	struct verdicts all;

	verdicts_init(&all, v, NULL);
	verdicts_release(&all);
}

static void fragmentation(const struct view *v)
{
	struct fragmentation f;

	fragmentation_init(&f, v, v->model->totals.peak_at);
	fragmentation_release(&f);
}

static const struct shape {
	const char *name;
	void (*run)(const struct view *v);
} shapes[] = {
	{ "tree", flame_graph },	{ "tree of the peak", flame_graph_of_peak },
	{ "tree, bottom-up", callers }, { "tree, by thread", threads },
	{ "series", whole_series },	{ "series, a quarter of the time", zoomed_series },
	{ "histogram", histogram },	{ "peaks of all stacks", peaks },
	{ "leak verdicts", verdicts },	{ "fragmentation at the peak", fragmentation },
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	struct model_options options = { .workers = MODEL_WORKERS_AUTO };
	struct view v = { 0 };
	struct model *m;
	struct err err;

	if (argc != 2 || model_open(&m, argv[1], &err)) {
		fprintf(stderr, "bench_shapes RECORDING\n");
		return 2;
	}
	model_load(m, &options);
	model_finish(m);
	v.model = m;
	v.locations = locations_new(m, NULL);
	v.count = m->allocations.count;
	locations_resolve_all(v.locations);
	printf("{\"allocations\": %u, \"shapes\": [", m->allocations.count);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		double times[REPEATS], start = now_ms(), first;

		shapes[i].run(&v);
		first = now_ms() - start;
		for (unsigned k = 0; k < REPEATS; k++) {
			start = now_ms();
			shapes[i].run(&v);
			times[k] = now_ms() - start;
		}
		qsort(times, REPEATS, sizeof(*times), by_value);
		printf("%s\n {\"name\": \"%s\", \"first_ms\": %.1f, \"ms\": %.1f}", i ? "," : "",
		       shapes[i].name, first, times[REPEATS / 2]);
		fflush(stdout);
	}
	printf("\n]}\n");
	locations_free(v.locations);
	model_free(m);
	return 0;
}
