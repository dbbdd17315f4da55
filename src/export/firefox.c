/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Firefox Profiler's processed profile: every event with its stack and address, by thread.
 *
 * A thread has what it allocated, and the ends of that whoever freed it (threadId says who), so its
 * view of what was retained is right by itself.  A realloc is an end and an allocation.  Blocks of
 * no bytes weigh nothing, and their end would be taken for an allocation: they are left out.
 *
 * The format wants a column at a time, so the events are walked once for each of the five; what is
 * held is proportional to stacks. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/firefox_tables.h"
#include "export/numbers.h"
#include "export/thread_events.h"
#include "query/clock.h"
#include "query/series.h"

#define VERSION 60	 /* of processed profiles; the viewer upgrades what is older than itself */
#define GECKO_VERSION 27 /* of the browser's own, which the viewer asks for too */
#define VISIBLE_MAX 15	 /* threads that are shown at first */
#define BUCKETS 2048	 /* of the memory track: two points each */

enum column { COLUMN_TIME, COLUMN_WEIGHT, COLUMN_STACK, COLUMN_ADDRESS, COLUMN_THREAD, COLUMNS_OF };
static const char *const column_names[COLUMNS_OF] = { "time", "weight", "stack", "memoryAddress",
						      "threadId" };

struct firefox {
	const struct export *x;
	struct sink *out;
	struct json j;
	struct firefox_tables tables;
	struct thread_events events;
	struct model_clock clock;
	uint64_t pid;
	uint64_t done; /* of all events, once for each column */
};

static void put_empty(struct json *j, const char *key)
{
	json_array(j, key);
	json_end_array(j);
}

static void put_value(struct firefox *f, struct numbers *n, enum column column,
		      const struct thread_walk *w)
{
	const struct columns *c = &f->x->view->model->allocations;
	uint32_t row = w->row, thread;

	switch (column) {
	case COLUMN_TIME:
		numbers_ms(n, clock_ns(&f->clock, w->is_free ? columns_freed_at(c, row)
							     : columns_allocated_at(c, row)));
		return;
	case COLUMN_WEIGHT:
		numbers_add(n, w->is_free ? -(int64_t)columns_size(c, row)
					  : (int64_t)columns_size(c, row));
		return;
	case COLUMN_STACK:
		numbers_add(n, firefox_stack(&f->tables, w->is_free ? columns_free_stack(c, row)
								    : columns_stack(c, row)));
		return;
	case COLUMN_ADDRESS:
		numbers_add(n, (int64_t)columns_address(c, row));
		return;
	case COLUMN_THREAD:
	case COLUMNS_OF:
		break;
	}
	thread = w->is_free && !(tags_flags(columns_tags(c, row)) & TAG_FREE_LOST)
			 ? tags_free_thread(columns_tags(c, row))
			 : tags_thread(columns_tags(c, row));
	numbers_add(n, (int64_t)f->x->view->model->tables.threads.rows[thread].tid);
}

static void put_column(struct firefox *f, uint32_t thread, enum column column)
{
	struct thread_walk w = thread_events_walk(&f->events, thread);
	struct numbers n = numbers_start(&f->j, column_names[column]);

	while (thread_walk_next(&w) && !sink_turn(f->out)) {
		if (!(++f->done & 0xffff))
			export_progress(f->x, f->done, f->events.total * COLUMNS_OF);
		put_value(f, &n, column, &w);
	}
	numbers_end(&n);
}

static void put_allocations(struct firefox *f, uint32_t thread)
{
	json_object(&f->j, "nativeAllocations");
	for (enum column column = 0; column < COLUMNS_OF; column++)
		put_column(f, thread, column);
	json_text(&f->j, "weightType", "bytes");
	json_number(&f->j, "length", f->events.counts[thread]);
	json_end_object(&f->j);
}

/* Nothing was sampled: two that have no stack, at the start and at the end, so that the viewer
 * shows the whole run and begins with what was allocated. */
static void put_samples(struct firefox *f)
{
	struct numbers n;

	json_object(&f->j, "samples");
	n = numbers_start(&f->j, "time");
	numbers_ms(&n, 0);
	numbers_ms(&n, clock_ns(&f->clock, f->clock.end));
	numbers_end(&n);
	n = numbers_start(&f->j, "stack");
	numbers_null(&n);
	numbers_null(&n);
	numbers_end(&n);
	json_null(&f->j, "weight");
	json_text(&f->j, "weightType", "samples");
	json_number(&f->j, "length", 2);
	json_end_object(&f->j);
}

static void put_markers(struct json *j)
{
	static const char *const columns[] = { "data",	  "name",  "startTime",
					       "endTime", "phase", "category" };

	json_object(j, "markers");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		put_empty(j, columns[i]);
	json_number(j, "length", 0);
	json_end_object(j);
}

static void put_pid(struct firefox *f)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, f->pid);
	json_text(&f->j, "pid", text);
}

/* `row`: its position in the model's table, or -1 for a program of which nothing is in the view. */
static void put_thread(struct firefox *f, int64_t row)
{
	const struct threads *threads = &f->x->view->model->tables.threads;
	struct thread thread = { .tid = f->pid };
	struct json *j = &f->j;

	if (row >= 0)
		thread = threads->rows[row];
	if (!thread.name[0])
		snprintf(thread.name, sizeof(thread.name), "thread %" PRIu64, thread.tid);
	json_object(j, NULL);
	json_text(j, "processType", "default");
	json_text(j, "processName", f->x->title);
	json_number(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_number(j, "registerTime", 0);
	json_null(j, "unregisterTime");
	put_empty(j, "pausedRanges");
	json_text(j, "name", thread.name);
	json_bool(j, "isMainThread", thread.tid == f->pid);
	put_pid(f);
	json_number(j, "tid", thread.tid);
	put_samples(f);
	put_markers(j);
	if (row >= 0)
		put_allocations(f, (uint32_t)row);
	json_end_object(j);
}

/* Of threads that have events. */
static uint32_t count_threads(const struct firefox *f)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->events.thread_count; i++)
		count += f->events.counts[i] != 0;
	return count;
}

static void put_threads(struct firefox *f)
{
	json_array(&f->j, "threads");
	if (!count_threads(f))
		put_thread(f, -1);
	for (uint32_t i = 0; i < f->events.thread_count && !f->out->error; i++)
		if (f->events.counts[i])
			put_thread(f, i);
	json_end_array(&f->j);
}

struct track_point {
	uint64_t at, bytes, events;
};

/* The most of each bucket and what it left, where anything happened. */
static uint32_t track_points(const struct firefox *f, struct track_point *points)
{
	uint32_t count = 0;
	uint64_t from, to;
	auto_release(series_release) struct series s = { 0 };

	series_whole(f->x->view->model, &from, &to);
	series_init(&s, f->x->view, from, to,
		    to - from < BUCKETS ? (uint32_t)(to - from) : BUCKETS);
	points[count++] = (struct track_point){ .at = from };
	for (uint32_t i = 0; i < s.count; i++) {
		const struct series_point *p = &s.points[i];
		uint64_t events = p->allocated_count + p->freed_count;

		if (!events)
			continue;
		points[count++] = (struct track_point){ p->most_at, p->most_bytes, 0 };
		points[count++] =
			(struct track_point){ series_edge(&s, i + 1) - 1, p->bytes, events };
	}
	return count;
}

static void put_track(struct firefox *f)
{
	auto_free struct track_point *points = xcalloc(2 * BUCKETS + 1, sizeof(*points));
	uint32_t count = track_points(f, points);

	json_object(&f->j, "samples");
	NUMBERS_EACH(n, &f->j, "time", i, i < count)
		numbers_ms(&n, clock_ns(&f->clock, points[i].at));
	NUMBERS_EACH(n, &f->j, "count", i, i < count)
		numbers_add(&n, (int64_t)(points[i].bytes - (i ? points[i - 1].bytes : 0)));
	NUMBERS_EACH(n, &f->j, "number", i, i < count)
		numbers_add(&n, (int64_t)points[i].events);
	json_number(&f->j, "length", count);
	json_end_object(&f->j);
}

/* Bytes alive, as differences. */
static void put_counters(struct firefox *f)
{
	json_array(&f->j, "counters");
	json_object(&f->j, NULL);
	json_text(&f->j, "name", "malloc");
	json_text(&f->j, "category", "Memory");
	json_text(&f->j, "description", "Memory that is allocated and not yet freed");
	put_pid(f);
	json_number(&f->j, "mainThreadIndex", 0);
	put_track(f);
	json_end_object(&f->j);
	json_end_array(&f->j);
}

static void put_category(struct json *j, const char *name, const char *color)
{
	json_object(j, NULL);
	json_text(j, "name", name);
	json_text(j, "color", color);
	json_array(j, "subcategories");
	json_text(j, NULL, "Other");
	json_end_array(j);
	json_end_object(j);
}

static void put_extra(struct json *j, const char *label, const char *format, uint64_t value)
{
	json_object(j, NULL);
	json_text(j, "label", label);
	json_text(j, "format", format);
	json_number(j, "value", value);
	json_end_object(j);
}

/* What the viewer tells about a profile: how much is in it, and what was taken out of the recording
 * before, which is in no thread. */
static void put_about(struct firefox *f)
{
	const struct model *m = f->x->view->model;

	json_array(&f->j, "extra");
	json_object(&f->j, NULL);
	json_text(&f->j, "label", "Memoir");
	json_array(&f->j, "entries");
	put_extra(&f->j, "Allocations", "integer", f->x->view->count);
	put_extra(&f->j, "Allocated", "bytes", f->x->view->bytes);
	if (m->totals.allocations > m->recorded.allocations) {
		put_extra(&f->j, "Removed from the recording, in no thread: allocations", "integer",
			  m->totals.allocations - m->recorded.allocations);
		put_extra(&f->j, "Removed from the recording, in no thread: bytes", "bytes",
			  m->totals.allocated_bytes - m->recorded.allocated_bytes);
	}
	json_end_array(&f->j);
	json_end_object(&f->j);
	json_end_array(&f->j);
}

static void put_meta(struct firefox *f)
{
	const struct model *m = f->x->view->model;
	const char *arch = model_info(m, "arch");
	uint32_t threads = count_threads(f);
	struct json *j = &f->j;

	json_object(j, "meta");
	json_number(j, "interval", 1);
	json_real(j, "startTime", (double)model_start_ns(m) / 1e6, 3);
	json_number(j, "processType", 0);
	json_text(j, "product", f->x->title);
	json_text(j, "importedFrom", "Memoir " MEMOIR_VERSION);
	json_text(j, "platform", "Linux");
	json_text(j, "oscpu", "Linux");
	json_text(j, "abi", arch ? arch : "");
	json_text(j, "misc", "");
	json_number(j, "stackwalk", 1);
	json_number(j, "debug", 0);
	json_number(j, "version", GECKO_VERSION);
	json_number(j, "preprocessedProfileVersion", VERSION);
	json_bool(j, "symbolicated", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "doesNotUseFrameImplementation", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_array(j, "categories"); /* enum firefox_category */
	put_category(j, "Other", "grey");
	put_category(j, "Program", "yellow");
	json_end_array(j);
	put_empty(j, "markerSchema");
	NUMBERS_EACH(n, j, "initialVisibleThreads", i, i < VISIBLE_MAX && (!i || i < threads))
		numbers_add(&n, i);
	NUMBERS_EACH(n, j, "initialSelectedThreads", i, i < 1)
		numbers_add(&n, i);
	put_about(f);
	json_end_object(j);
}

static int write_firefox(const struct export *x, struct sink *out, struct err *err)
{
	const struct model *m = x->view->model;
	struct firefox f = {
		.x = x,
		.out = out,
		.j = { .out = &out->buf, .compact = true },
		.clock = model_clock(m),
		.pid = model_info_number(m, "pid", 0),
	};

	firefox_tables_init(&f.tables, x->view, out);
	thread_events_init(&f.events, x->view);
	json_object(&f.j, NULL);
	put_meta(&f);
	firefox_put_libraries(&f.tables, &f.j);
	put_empty(&f.j, "pages");
	firefox_put_shared(&f.tables, &f.j);
	put_counters(&f);
	put_threads(&f);
	json_end_object(&f.j);
	thread_events_release(&f.events);
	firefox_tables_release(&f.tables);
	return out->error;
}

const struct exporter exporter_firefox = {
	.name = "firefox",
	.extension = "json.gz",
	.mime = "application/json",
	.viewer = "profiler.firefox.com (which reads it in the browser), profiler-cli",
	.help = "every event by thread: what was retained, what freed it, memory over time",
	.events_only = true,
	.write = write_firefox,
};
