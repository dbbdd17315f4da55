/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loaded files.  See snapshot.h. */
#include "answer/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/hold_lock.h"
#include "base/human.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "model/successor.h"
#include "query/answer.h"
#include "query/verdict_cache.h"

void snapshot_id(char ret_id[ID_SIZE], const uint8_t id[16])
{
	for (unsigned i = 0; i < 16; i++)
		snprintf(ret_id + (size_t)2 * i, 3, "%02x", id[i]);
}

struct snapshot *snapshot_new(void)
{
	static _Atomic uint64_t numbers;
	struct snapshot *s = xcalloc(1, sizeof(*s));

	atomic_init(&s->refs, 1);
	s->number = ++numbers;
	views_init(&s->views);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->judging, NULL);
	return s;
}

struct snapshot *snapshot_hold(struct snapshot *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

struct snapshot *snapshot_drop(struct snapshot *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return NULL;
	views_release(&s->views);
	locations_free(s->locations);
	model_free(s->model);
	if (s->release)
		s->release(s);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->judging);
	free(s->location_counts);
	free(s->call_counts);
	verdicts_release(&s->verdicts);
	verdicts_release(&s->held_verdicts);
	free(s->name);
	free(s);
	return NULL;
}

void snapshot_answer(struct snapshot *s, struct answer *a, const struct view *v)
{
	parallel_whole(); /* it is kept for whoever asks next */
	answer_init(a, v);
	hold_lock(&s->lock);
	if (!s->location_counts) {
		answer_count(a);
		s->location_counts = a->location_counts;
		s->call_counts = a->call_counts;
	}
	a->location_counts = s->location_counts;
	a->call_counts = s->call_counts;
}

void snapshot_answer_release(struct answer *a)
{
	a->location_counts = a->call_counts = NULL;
	answer_release(a);
}

const struct verdicts *snapshot_verdicts(struct snapshot *s, bool held)
{
	struct held_view *all;
	struct err err;

	parallel_whole(); /* it is kept for whoever asks next */
	hold_lock(&s->judging);
	if (!s->judged) {
		all = views_take(&s->views, s->model, s->locations, NULL, &err);
		verdict_cache_both(&s->verdicts, &s->held_verdicts, all->view);
		views_give(&s->views, all);
		s->judged = true;
	}
	return held ? &s->held_verdicts : &s->verdicts;
}

void snapshot_prepare(struct snapshot *s)
{
	struct held_view *all;
	struct answer a;
	struct err err;

	if (!s->model)
		return;
	model_free_order(s->model);
	all = views_take(&s->views, s->model, s->locations, NULL, &err);
	snapshot_answer(s, &a, all->view);
	snapshot_answer_release(&a);
	views_give(&s->views, all);
}

static void begin(struct json *j, const char *kind, const char *text)
{
	json_object(j, NULL);
	json_text(j, "kind", kind);
	json_text(j, "text", text);
}

static void warn(struct json *j, const char *kind, struct buf *text)
{
	begin(j, kind, text->data);
	json_end_object(j);
	buf_clear(text);
}

static void warn_loss(struct snapshot *s, struct json *j, struct buf *text)
{
	struct loss loss = model_loss(s->model);
	uint64_t lost = model_counters(s->model, "dropped_");

	if (s->live) {
		buf_text(text, "The program still runs: figures go up to the last look at it.");
		warn(j, "live", text);
	} else if (loss.kind == LOSS_DAMAGED) {
		buf_printf(text, "The file is damaged (%s): everything before that is used.",
			   loss.err.text);
		warn(j, "damaged", text);
	} else if (loss.kind == LOSS_CUT || !s->model->reader.ended) {
		buf_text(text,
			 "The end of the recording is missing, as when its writer was killed: "
			 "everything before that is used.");
		warn(j, "truncated", text);
	}
	if (lost) {
		buf_printf(text,
			   "%s events were lost while recording: the program was faster than the "
			   "disk. MEMOIR_WHEN_FULL=wait loses none.",
			   count_text(lost));
		warn(j, "lost_events", text);
	}
}

static void warn_removed(struct snapshot *s, struct json *j, struct buf *text)
{
	uint64_t count = s->model->totals.allocations - s->model->recorded.allocations;

	if (!count)
		return;
	buf_printf(text,
		   "%s short-lived allocations were culled or stripped from this recording: they "
		   "count in totals and groups, and cannot be shown one by one.",
		   count_text(count));
	warn(j, "culled", text);
}

/* Modules of which less is known than the names of their functions, if stacks go through them. */
static void warn_symbols(struct snapshot *s, struct json *j, struct buf *text)
{
	const struct tables *t = &s->model->tables;
	auto_free uint8_t *used = xcalloc(t->module_count + 1, 1);
	unsigned count = 0;

	for (uint32_t i = 1; i < locations_count(s->locations); i++) {
		const struct location *p = locations_at(s->locations, i);

		if (p->module < t->module_count)
			used[p->module] = 1;
	}
	for (size_t i = 1; i < t->module_count; i++) {
		used[i] = used[i] && t->modules[i].known &&
			  *locations_module_path(s->locations, (uint32_t)i) == '/' &&
			  locations_level(s->locations, (uint32_t)i) < SYMBOLS_NAMES;
		count += used[i];
	}
	if (count) {
		buf_printf(text,
			   "%u module%s no names of functions: install %s debug symbols, or start "
			   "the server with -d FOLDER or --debuginfod.",
			   count, count == 1 ? " has" : "s have", count == 1 ? "its" : "their");
		begin(j, "no_symbols", text->data);
		buf_clear(text);
		json_array(j, "modules");
		for (size_t i = 1; i < t->module_count; i++)
			if (used[i])
				json_text(j, NULL,
					  path_base(locations_module_path(s->locations,
									  (uint32_t)i)));
		json_end_array(j);
		json_end_object(j);
	}
}

static void warn_stacks(struct snapshot *s, struct json *j, struct buf *text)
{
	const struct totals *t = &s->model->totals;
	struct stack_counts counts;

	stats_count_stacks(s->model, &counts);
	if (counts.without_stack * 100 > t->allocations && t->allocations) {
		buf_printf(text, "%s allocations have no stack.", count_text(counts.without_stack));
		warn(j, "no_stacks", text);
	}
	if (t->unknown_frees * 100 > t->deallocations && t->deallocations) {
		buf_printf(text,
			   "%s frees are of blocks that the recording does not know: it may have "
			   "begun after them.",
			   count_text(t->unknown_frees));
		warn(j, "unknown_frees", text);
	}
}

/* Who starts a script, or a program behind env, means what comes after it. */
static void warn_successor(struct snapshot *s, struct json *j, struct buf *text)
{
	struct successor successor;

	if (!successor_find(s->model, &successor))
		return;
	buf_printf(text, "The process went on as %s: that program's memory is in %s.",
		   successor.executable, path_base(successor.path));
	warn(j, "went_on", text);
	successor_release(&successor);
}

void snapshot_warnings(struct snapshot *s, struct json *j)
{
	auto_buf struct buf text = { 0 };

	json_array(j, "warnings");
	if (s->model) {
		warn_successor(s, j, &text);
		warn_loss(s, j, &text);
		warn_removed(s, j, &text);
		warn_symbols(s, j, &text);
		warn_stacks(s, j, &text);
	}
	if (s->warn)
		s->warn(j, s);
	json_end_array(j);
}
