/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bench_ask RECORDING: how long questions of src/answer take, the opening excluded.
 *
 * The recording is opened as commands do it, through the cache, and a line of JSON says how long
 * that took.  Then each line of stdin is a question ("groups count=50&filter=size+%3E+1k"), which
 * is answered as the server would, but for connections and kept answers; the answer is thrown away,
 * and a line of JSON has its milliseconds, those of a processor, and its bytes.  What a snapshot
 * keeps for the next question stays: who wants to measure work asks for something else each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer/question.h"
#include "base/sink.h"
#include "model/cache.h"

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int count_bytes(void *context, const void *bytes, size_t size)
{
	*(size_t *)context += size;
	return 0;
}

static struct snapshot *open_recording(const char *path)
{
	struct model_options options = { .workers = MODEL_WORKERS_AUTO };
	struct cache_options cache;
	struct snapshot *s;
	struct model *m;
	struct err err;
	int error;

	cache_options_init(&cache);
	error = model_open_cached(&m, path, &cache, &err);
	cache_options_release(&cache);
	if (error)
		return NULL;
	model_load(m, &options);
	model_finish(m);
	s = snapshot_new();
	s->model = m;
	s->version = 1;
	s->locations = locations_new(m, NULL);
	locations_resolve_all(s->locations);
	return s;
}

static void answer(struct snapshot *s, const char *name, const char *query)
{
	const struct question *q = question_find(name);
	double start = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	struct ask a = { .snapshot = snapshot_hold(s), .fault = FAULT_NONE, .checked = FAULT_NONE };
	struct err err = { 0 };
	struct sink out;
	size_t bytes = 0;

	if (!q || params_decode_query(&a.params, query, &err)) {
		fprintf(stderr, "bench_ask: %s: %s\n", name, q ? err.text : "no such question");
		exit(2);
	}
	a.rows = q->params;
	a.filters = q->filters;
	sink_to_function(&out, count_bytes, &bytes, SINK_PLAIN);
	if (!ask_check(&a) || question_answer(q, &a, &out) || sink_finish(&out, &err)) {
		fprintf(stderr, "bench_ask: %s %s: %s\n", name, query, a.fault.text);
		exit(2);
	}
	ask_release(&a);
	printf("{\"ms\": %.2f, \"cpu_ms\": %.2f, \"bytes\": %zu}\n",
	       now_ms(CLOCK_MONOTONIC) - start, now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu, bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double start = now_ms(CLOCK_MONOTONIC);
	struct snapshot *s = argc == 2 ? open_recording(argv[1]) : NULL;
	char line[4096];

	if (!s) {
		fprintf(stderr, "bench_ask RECORDING\n");
		return 2;
	}
	printf("{\"ms\": %.2f, \"allocations\": %llu}\n", now_ms(CLOCK_MONOTONIC) - start,
	       (unsigned long long)s->model->totals.allocations);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *query = line + strcspn(line, " \n");

		line[strcspn(line, "\n")] = 0;
		if (*query)
			*query++ = 0;
		answer(s, line, query);
	}
	snapshot_drop(s);
	return 0;
}
