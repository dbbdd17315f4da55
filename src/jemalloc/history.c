/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a file for the page.  See history.h. */
#include "jemalloc/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "jemalloc/merge.h"
#include "jemalloc/stats_write.h"

const char *const history_curves[] = {
	[HISTORY_ALLOCATED] = "allocated", [HISTORY_ACTIVE] = "active",
	[HISTORY_RESIDENT] = "resident",   [HISTORY_METADATA] = "metadata",
	[HISTORY_MAPPED] = "mapped",	   [HISTORY_RETAINED] = "retained",
	[HISTORY_UPTIME_NS] = "uptime_ns",
};

static const int totals[] = {
	[HISTORY_ALLOCATED] = STATS_TOTAL_ALLOCATED,
	[HISTORY_ACTIVE] = STATS_TOTAL_ACTIVE,
	[HISTORY_RESIDENT] = STATS_TOTAL_RESIDENT,
	[HISTORY_METADATA] = STATS_TOTAL_METADATA,
	[HISTORY_MAPPED] = STATS_TOTAL_MAPPED,
	[HISTORY_RETAINED] = STATS_TOTAL_RETAINED,
	[HISTORY_UPTIME_NS] = -1,
};

void history_init(struct history *h, const char *name, size_t most, size_t bytes)
{
	memset(h, 0, sizeof(*h));
	h->name = xstrdup(name);
	h->point_stride = h->document_stride = 1;
	h->document_max = most > 2 ? most : 2;
	h->bytes_max = bytes;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->document_count; i++)
		free(h->documents[i].json);
	free(h->documents);
	free(h->points);
	free(h->name);
	buf_release(&h->problems);
	buf_release(&h->grown);
	growth_release(&h->growth);
	memset(h, 0, sizeof(*h));
}

/* A bin that nobody uses: nothing but its shape is told. */
static bool is_idle(const uint64_t *row, unsigned width, uint64_t shape)
{
	return !ANY(i, width, !(shape >> i & 1) && row[i] && row[i] != STATS_NONE);
}

static void trim_rows(struct stats_rows *r, uint64_t shape)
{
	size_t remaining = 0;

	for (size_t i = 0; i < r->count; i++) {
		uint64_t *row = stats_row(r, i);

		if (is_idle(row, r->width, shape))
			continue;
		if (remaining != i)
			memcpy(stats_row(r, remaining), row, r->width * sizeof(*row));
		remaining++;
	}
	r->count = remaining;
}

#define BIT(n) (UINT64_C(1) << (n))
_Static_assert(STATS_BIN_COUNT <= 64, "fields of a row are bits");

/* Most bins of most arenas are idle, and not worth a row; other idle classes are not written. */
static void trim(struct stats *s)
{
	for (size_t i = 0; i < s->arena_count; i++)
		trim_rows(&s->arenas[i].bins, BIT(STATS_BIN_SIZE) | BIT(STATS_BIN_INDEX) |
						      BIT(STATS_BIN_NREGS) | BIT(STATS_BIN_PAGES) |
						      BIT(STATS_BIN_NSHARDS));
}

/* Lets go of those that are not on the stride. */
static void thin_documents(struct history *h)
{
	size_t count = 0;

	h->document_stride *= 2;
	for (size_t i = 0; i < h->document_count; i++) {
		if (h->documents[i].number % h->document_stride) {
			h->document_bytes -= h->documents[i].size;
			free(h->documents[i].json);
		} else {
			h->documents[count++] = h->documents[i];
		}
	}
	h->document_count = count;
}

static void keep_document(struct history *h, struct stats *s, const struct stats_origin *from,
			  uint64_t number)
{
	auto_buf struct buf text = { 0 };
	struct json j = { .out = &text, .compact = true };

	trim(s);
	stats_write(&j, NULL, s, from);
	*xpush(h->documents, h->document_count, h->document_room) = (struct history_document){
		.number = number, .json = xmemdup0(text.data, text.size), .size = text.size
	};
	h->document_bytes += text.size;
}

static void push_point(struct history *h)
{
	*xpush(h->points, h->point_count, h->point_room) = h->last;
}

static void add_point(struct history *h, const struct stats *s, int64_t time_ns)
{
	struct history_point *p = &h->last;
	size_t count = 0;

	*p = (struct history_point){ .number = h->snapshots, .time_ns = time_ns };
	for (unsigned i = 0; i < HISTORY_CURVE_COUNT; i++)
		p->value[i] = totals[i] < 0 ? stats_uptime(s) : s->total[totals[i]];
	if (h->snapshots % h->point_stride)
		return;
	if (h->point_count >= HISTORY_POINTS) {
		h->point_stride *= 2;
		for (size_t i = 0; i < h->point_count; i++)
			if (!(h->points[i].number % h->point_stride))
				h->points[count++] = h->points[i];
		h->point_count = count;
		if (h->snapshots % h->point_stride)
			return;
	}
	push_point(h);
}

static void add_problem(struct history *h, const struct err *err)
{
	char text[320];
	int n = snprintf(text, sizeof(text), "offset %" PRIu64 ": %s", err->offset, err->text);

	if (h->problem_count++ < HISTORY_PROBLEMS)
		buf_add(&h->problems, text, (size_t)n + 1);
}

/* What is known of the last snapshot, until it is known that it was the last. */
struct last {
	struct stats stats;
	struct stats_origin from;
	bool is_document;
};

static void history_take_snapshot(struct history *h, struct snapshots *r, struct last *last)
{
	const char *missing = stats_missing(&r->stats);
	struct stats other = last->stats;

	if (missing && !h->missing) { /* as a rule of all of them */
		struct err err = { .offset = r->document };

		err_at(&err, 0, r->document, "%s", missing);
		add_problem(h, &err);
		h->missing = true;
	}

	last->from = (struct stats_origin){ h->name, r->document, r->time_ns };
	last->stats = r->stats;
	r->stats = other;
	memcpy(h->version, last->stats.version, sizeof(h->version));
	growth_add(&h->growth, &last->stats, stats_merge(&last->stats), r->time_ns);
	add_point(h, &last->stats, r->time_ns);
	last->is_document = !(h->snapshots % h->document_stride);
	if (last->is_document)
		keep_document(h, &last->stats, &last->from, h->snapshots);
	h->snapshots++;
	while (h->document_count > 2 &&
	       (h->document_count > h->document_max || h->document_bytes > h->bytes_max)) {
		thin_documents(h);
		last->is_document = !((h->snapshots - 1) % h->document_stride);
	}
}

/* The last one is always there, whatever was thinned out. */
static void history_finish(struct history *h, struct last *last)
{
	struct json j = { .out = &h->grown, .compact = true };

	if (!last->is_document)
		keep_document(h, &last->stats, &last->from, h->snapshots - 1);
	if (h->points[h->point_count - 1].number != h->last.number)
		push_point(h);
	if (h->snapshots > 1)
		growth_write(&j, NULL, &h->growth);
	growth_release(&h->growth);
}

int history_read(struct history *h, struct snapshots *r, bool (*go_on)(void *context, uint64_t at),
		 void *context, struct err *err)
{
	struct err problem = { .offset = ERR_NO_OFFSET };
	struct last last = { .is_document = true };
	int n;

	stats_init(&last.stats);
	while ((n = snapshots_next(r, &problem)) == 1 || n == -EBADMSG) {
		if (n == 1)
			history_take_snapshot(h, r, &last);
		else
			add_problem(h, &problem);
		if (go_on && !go_on(context, r->document)) {
			n = err_set(err, -ECANCELED, "it was not read to its end");
			break;
		}
	}
	if (h->snapshots)
		history_finish(h, &last);
	stats_release(&last.stats);
	if (n == -ECANCELED)
		return n;
	if (n) /* what was read until then stays */
		add_problem(h, &problem);
	if (h->snapshots)
		return 0;
	if (h->problem_count)
		return err_at(err, n ? n : -EBADMSG, problem.offset, "%s", problem.text);
	return err_set(err, -EBADMSG, "it holds no jemalloc statistics: %s", snapshots_guess(r));
}

static void write_series(struct json *j, const struct history *h)
{
	json_object(j, "series");
	JSON_EACH(j, "snapshot", i, h->point_count)
		json_number(j, NULL, h->points[i].number);
	JSON_EACH(j, "time", i, h->point_count)
		json_real_if(j, NULL, h->points[i].time_ns != WHEN_NONE,
			     (double)h->points[i].time_ns / 1e9, 3);
	for (unsigned c = 0; c < HISTORY_CURVE_COUNT; c++) {
		JSON_EACH(j, history_curves[c], i, h->point_count)
			json_number_if(j, NULL, h->points[i].value[c] < STATS_NONE,
				       h->points[i].value[c]);
	}
	json_end_object(j);
}

static void write_problems(struct json *j, const struct history *h)
{
	char more[64];

	json_array(j, "problems");
	for (size_t at = 0; at < h->problems.size; at += strlen(h->problems.data + at) + 1)
		json_text(j, NULL, h->problems.data + at);
	if (h->problem_count > HISTORY_PROBLEMS) {
		snprintf(more, sizeof(more), "and %" PRIu64 " more like these",
			 h->problem_count - HISTORY_PROBLEMS);
		json_text(j, NULL, more);
	}
	json_end_array(j);
}

void history_write(struct json *j, const struct history *h, bool documents)
{
	JSON_MEMBERS(j, h, name, snapshots);
	JSON_EACH(j, "kept", i, h->document_count)
		json_number(j, NULL, h->documents[i].number);
	write_problems(j, h);
	write_series(j, h);
	if (h->grown.size)
		json_written(j, "growth", h->grown.data, h->grown.size);
	if (documents) {
		JSON_EACH(j, "documents", i, h->document_count)
			json_written(j, NULL, h->documents[i].json, h->documents[i].size);
	}
}

const struct history_document *history_document(const struct history *h, uint64_t number)
{
	return FIND(it, h->documents, h->document_count, it->number == number);
}
