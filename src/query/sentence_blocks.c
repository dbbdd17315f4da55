/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sentences on blocks: the peak, and what is odd about them.  See sentence_rules.h.
 *
 * What looks at single allocations says nothing where some were taken out of the recording. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/sentence_rules.h"
#include "query/sentence_words.h"
#include "query/thread_sums.h"

#define LARGE "size >= 1Mi and lifetime < 10ms and not leaked"
#define LARGE_CALLS 100
#define THREADS_SOME 4 /* that have any of the peak */
#define ZERO "size = 0"
#define ZERO_CALLS 1000
#define TEMPORARY_CALLS 1000
#define SLACK_BYTES (64u << 10)

/* What became of the function's blocks, if that can be said of nearly all that is left of them. */
static void say_fate(struct sentence *s, const struct function_figures *g)
{
	const struct judged *settled = &g->judged[JUDGED_SETTLED];
	uint64_t left = g->weights[FIGURE_LEFT].bytes + g->held_bytes;

	if (g->judged[JUDGED_GROWING].some || g->judged[JUDGED_UNCLEAR].some)
		return;
	if (!g->weights[FIGURE_LEFT].count && !g->held_bytes) {
		sentence_say(s, "; all of it was freed later");
		return;
	}
	if (settled->some && settled->bytes >= left / 10 * 9) {
		s->since_ns = settled->moves ? 0 : settled->since_ns;
		sentence_say(s, settled->level	 ? "; it goes up and down"
				: settled->moves ? "; bounded"
						 : "; bounded since {since}");
	}
	if (sentence_keeps_peak(g))
		sentence_say(s, ", and freed when the program ended");
}

bool sentence_keeps_peak(const struct function_figures *g)
{
	return !g->weights[FIGURE_LEFT].count &&
	       g->held_bytes >= g->weights[FIGURE_PEAK].bytes / 10 * 9;
}

enum peak_shape { PEAK_OF_ONE, PEAK_NEARLY, PEAK_OF_SOME, PEAK_OF_MANY, PEAK_SHAPES };

/* Of the whole recording, and of what matches. */
static const char *const peak_words[2][PEAK_SHAPES] = {
	{ [PEAK_OF_ONE] = "All of the {whole} at the peak is from {function}",
	  [PEAK_NEARLY] = "Nearly all of the {whole} at the peak is from {function}",
	  [PEAK_OF_SOME] = "{bytes} of {whole} at the peak is from {function}",
	  [PEAK_OF_MANY] =
		  "The {whole} at the peak is from {functions} functions; the most, {bytes}, "
		  "is from {function}" },
	{ [PEAK_OF_ONE] = "All that matches at the program's peak, {whole}, is from {function}",
	  [PEAK_NEARLY] = "Nearly all that matches at the program's peak, {whole}, is from "
			  "{function}",
	  [PEAK_OF_SOME] = "{bytes} of the {whole} that match at the program's peak is from "
			   "{function}",
	  [PEAK_OF_MANY] = "The {whole} that match at the program's peak is from {functions} "
			   "functions; the most, {bytes}, is from {function}" },
};

static enum peak_shape peak_shape(const struct sentence *s)
{
	if (s->bytes == s->whole)
		return PEAK_OF_ONE;
	if (sentence_reads_same(s->bytes, s->whole))
		return PEAK_NEARLY;
	return s->bytes < s->whole / 10 ? PEAK_OF_MANY : PEAK_OF_SOME;
}

void find_peak(struct sentence_list *to, const struct figures *f)
{
	const struct weight *all = &f->all[FIGURE_PEAK];
	uint64_t functions;
	const struct function_figures *most = figures_most(f, FIGURE_PEAK, false, &functions);
	struct sentence *s;

	if (!most || !most->weights[FIGURE_PEAK].bytes)
		return;
	s = sentence_add(to, SENTENCE_PEAK);
	s->bytes = most->weights[FIGURE_PEAK].bytes;
	s->count = most->weights[FIGURE_PEAK].count;
	s->whole = all->bytes;
	s->all_count = all->count;
	s->functions = functions;
	s->at_ns = model_ns(f->view->model, f->view->model->totals.peak_at);
	sentence_about_function(to, s, most->stack);
	sentence_say(s, peak_words[f->view->bits != NULL][peak_shape(s)]);
	say_fate(s, most);
}

void find_slack(struct sentence_list *to, const struct figures *f)
{
	const struct weight *all = &f->all[FIGURE_PEAK];
	uint64_t slack = f->rows_are_whole && all->bytes ? figures_peak_slack(f) : 0;
	struct sentence *s;

	if (slack < SLACK_BYTES || slack < all->bytes / 10)
		return;
	s = sentence_add(to, SENTENCE_SLACK);
	s->bytes = slack;
	s->whole = all->bytes;
	s->count = all->count;
	s->at_ns = model_ns(f->view->model, f->view->model->totals.peak_at);
	sentence_say(s, "The allocator rounds the {whole} at the peak up by {bytes} ({share})");
}

/* Another thread than the first that has most of what several have. */
void find_thread(struct sentence_list *to, const struct figures *f)
{
	const struct threads *t = &f->view->model->tables.threads;
	const struct weight *all = &f->all[FIGURE_PEAK];
	auto_free struct thread_sums *sums = NULL;
	char term[32];
	uint32_t most = 0;
	uint64_t some = 0;
	struct sentence *s;

	if (t->count < 2 || !f->rows_are_whole || !all->bytes)
		return;
	sums = thread_sums(f->view);
	for (uint32_t i = 0; i < t->count; i++) {
		some += sums[i].peak_bytes != 0;
		if (sums[i].peak_bytes > sums[most].peak_bytes)
			most = i;
	}
	if (!most || some < THREADS_SOME || sums[most].peak_bytes < all->bytes / 2)
		return;
	s = sentence_add(to, SENTENCE_THREAD);
	s->bytes = sums[most].peak_bytes;
	s->count = sums[most].peak_count;
	s->whole = all->bytes;
	s->all_count = all->count;
	s->at_ns = model_ns(f->view->model, f->view->model->totals.peak_at);
	s->threads = some;
	s->thread = t->rows[most].tid;
	snprintf(term, sizeof(term), "thread = %" PRIu64, s->thread);
	sentence_about(s, term);
	sentence_say(s, "{bytes} of {whole} at the peak was allocated by one of {threads} "
			"threads, {thread}");
}

static void say_whose(struct sentence *s)
{
	sentence_say(s, s->part_count == s->count ? "; all of these are from {function}"
						  : "; {part_count} of these are from {function}");
}

void find_large(struct sentence_list *to, const struct figures *f)
{
	struct figures_chosen c = { 0 };
	struct sentence *s;

	if (f->rows_are_whole)
		figures_choose(f, LARGE, &c);
	if (c.all.count < LARGE_CALLS)
		return;
	s = sentence_add(to, SENTENCE_LARGE);
	s->bytes = c.largest;
	s->count = c.all.count;
	s->part_count = c.most.count;
	s->functions = c.functions;
	if (c.functions == 1) {
		sentence_about_function(to, s, c.stack);
		sentence_say(s, "{function} allocates {count|block} of 1 MiB or more that live "
				"under 10 ms each; the largest has {bytes}");
	} else {
		sentence_say(s, "{count|block} of 1 MiB or more live under 10 ms each; the "
				"largest has {bytes}");
	}
	sentence_about(s, LARGE);
}

void find_temporary(struct sentence_list *to, const struct figures *f)
{
	const struct weight *all = &f->all[FIGURE_TEMPORARY];
	uint64_t functions, calls = f->all[FIGURE_ALLOCATED].count;
	const struct function_figures *most = figures_most(f, FIGURE_TEMPORARY, true, &functions);
	struct sentence *s;

	if (!most || all->count < TEMPORARY_CALLS || all->count < calls / 10)
		return;
	s = sentence_add(to, SENTENCE_TEMPORARY);
	s->count = all->count;
	s->all_count = calls;
	s->bytes = all->bytes / all->count;
	s->part_count = most->weights[FIGURE_TEMPORARY].count;
	s->functions = functions;
	sentence_say(s, "{count_share} of the allocations, {count}, are temporary: their thread's "
			"next call frees them");
	sentence_name(to, s, most->stack);
	say_whose(s);
}

void find_zero(struct sentence_list *to, const struct figures *f)
{
	struct figures_chosen c = { 0 };
	struct sentence *s;

	if (f->rows_are_whole)
		figures_choose(f, ZERO, &c);
	if (c.all.count < ZERO_CALLS || c.all.count < f->all[FIGURE_ALLOCATED].count / 100)
		return;
	s = sentence_add(to, SENTENCE_ZERO);
	s->count = c.all.count;
	s->all_count = f->all[FIGURE_ALLOCATED].count;
	s->part_count = c.most.count;
	s->functions = c.functions;
	sentence_name(to, s, c.stack);
	sentence_about(s, ZERO);
	sentence_say(s, "{count_share} of the allocations, {count}, are of no bytes");
	say_whose(s);
}
