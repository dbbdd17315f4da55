/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sentences on what became of memory: does it grow, is it ever freed?  See sentence_rules.h.
 *
 * That something grows is said of functions whose verdicts matter; that nothing does, only where
 * every verdict says so and nothing of the recording is missing. */
#include <string.h>

#include "query/known_pools.h"
#include "query/sentence_rules.h"
#include "query/sentence_words.h"

#define GROWING_EACH 3 /* functions that have a sentence of their own */
#define HELD_SHARE 4   /* of the peak: the fourth part, or more */

/* The function with most bytes of a judgement after `last`; NULL: there is none. */
static const struct function_figures *next_judged(const struct figures *f, enum judgement how,
						  const struct function_figures *last)
{
	const struct function_figures *most = NULL;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct function_figures *g = &f->functions[i];
		const struct judged *j = &g->judged[how];

		if (!j->some)
			continue;
		if (last && (j->bytes > last->judged[how].bytes ||
			     (j->bytes == last->judged[how].bytes && g <= last)))
			continue;
		if (!most || j->bytes > most->judged[how].bytes)
			most = g;
	}
	return most;
}

static void add_growing(struct sentence_list *to, const struct function_figures *g)
{
	const struct judged *j = &g->judged[JUDGED_GROWING];
	struct sentence *s = sentence_add(to, SENTENCE_GROWING);

	s->bytes = j->bytes;
	s->functions = 1;
	s->since_ns = j->since_ns;
	s->bytes_per_second = (uint64_t)j->bytes_per_second;
	sentence_about_function(to, s, g->stack);
	if (j->freed)
		sentence_say(s, "{function} keeps more and more until the program ends, {bytes}");
	else
		sentence_say(s, "{function} grows");
	if (s->bytes_per_second)
		sentence_say(s, j->freed ? ": {rate}" : " by {rate}");
	else
		sentence_say(s, j->freed ? ": unsteadily" : " unsteadily");
	sentence_say(s, j->moves ? " in the last half of the work" : " since {since}");
	if (!j->freed)
		sentence_say(s, ": {bytes} was never freed");
}

void find_growing(struct sentence_list *to, const struct figures *f)
{
	const struct function_figures *g = next_judged(f, JUDGED_GROWING, NULL);
	struct sentence *s;
	double rate = 0;

	for (unsigned i = 0; g && (i < GROWING_EACH || !next_judged(f, JUDGED_GROWING, g)); i++) {
		add_growing(to, g);
		g = next_judged(f, JUDGED_GROWING, g);
	}
	if (!g)
		return;
	s = sentence_add(to, SENTENCE_GROWING_TOO);
	for (; g; g = next_judged(f, JUDGED_GROWING, g)) {
		s->functions++;
		s->bytes += g->judged[JUDGED_GROWING].bytes;
		rate += g->judged[JUDGED_GROWING].bytes_per_second;
	}
	s->bytes_per_second = (uint64_t)rate;
	sentence_say(s, "{functions|more function} keep more and more, {bytes} in all");
	if (s->bytes_per_second)
		sentence_say(s, ": {rate}");
}

void find_unclear(struct sentence_list *to, const struct figures *f)
{
	const struct function_figures *most = NULL, *g;
	struct sentence *s;
	uint64_t bytes = 0, functions = 0;

	for (g = next_judged(f, JUDGED_UNCLEAR, NULL); g; g = next_judged(f, JUDGED_UNCLEAR, g)) {
		/* Of what grows it is said already. */
		if (g->judged[JUDGED_GROWING].some)
			continue;
		most = most ? most : g;
		bytes += g->judged[JUDGED_UNCLEAR].bytes;
		functions++;
	}
	if (!most)
		return;
	s = sentence_add(to, SENTENCE_UNCLEAR);
	s->bytes = bytes;
	s->functions = functions - 1;
	if (functions == 1) {
		sentence_about_function(to, s, most->stack);
		sentence_say(s, "It is not clear whether {function} grows ({bytes})");
	} else {
		sentence_name(to, s, most->stack);
		sentence_say(s, "It is not clear whether {function} and {functions|other function} "
				"grow ({bytes})");
	}
	s->functions = functions;
	sentence_say(s, ": record more of the same work");
}

/* No function that matters is growing, or may be; nor do the small ones together. */
static bool nothing_grows(const struct figures *f)
{
	if (!f->judged || !f->is_whole || f->from->verdicts->small.grows)
		return false;
	for (uint32_t i = 0; i < f->count; i++)
		if (f->functions[i].judged[JUDGED_GROWING].some ||
		    f->functions[i].judged[JUDGED_UNCLEAR].some)
			return false;
	return true;
}

/* Nearly all that is left is of functions that grow, and said with them. */
static bool said_as_growth(const struct figures *f)
{
	const struct function_figures *g = NULL;
	uint64_t bytes = 0;

	while ((g = next_judged(f, JUDGED_GROWING, g)))
		bytes += g->judged[JUDGED_GROWING].freed ? 0 : g->judged[JUDGED_GROWING].bytes;
	return bytes && bytes >= f->all[FIGURE_LEFT].bytes / 10 * 9;
}

/* Of the recording, and of a part; the second behind that nothing grows. */
static const char *const words_all_freed[2][2] = {
	{ "Everything was freed", "everything was freed" },
	{ "All of it was freed", "all of it was freed" },
};

/* Is it, but for what reads the same, kept on purpose for one reason? */
static bool say_pool(struct sentence *s, const struct figures *f)
{
	const struct verdicts *all = f->judged ? f->from->verdicts : NULL;
	const char *reason = NULL;
	bool alone = true;

	for (uint32_t i = 0; all && i < all->count; i++) {
		const struct verdict *v = &all->rows[i];

		if (v->class != VERDICT_POOL || v->freed_at_exit)
			continue;
		s->pool_bytes += verdict_bytes(v);
		alone &= !reason || !strcmp(reason, v->known->reason);
		reason = v->known->reason;
	}
	if (!reason || !alone || !sentence_reads_same(s->pool_bytes, s->bytes))
		return false;
	sentence_say(s, "{bytes} is kept on purpose: ");
	sentence_say_plain(s, reason);
	return true;
}

void find_left(struct sentence_list *to, const struct figures *f)
{
	const struct weight *all = &f->all[FIGURE_LEFT];
	bool quiet = nothing_grows(f);
	uint64_t functions;
	const struct function_figures *most = figures_most(f, FIGURE_LEFT, false, &functions);
	struct sentence *s;

	if (!f->all[FIGURE_ALLOCATED].count || said_as_growth(f))
		return;
	s = sentence_add(to, SENTENCE_LEFT);
	s->bytes = all->bytes;
	s->count = all->count;
	s->whole = f->all[FIGURE_ALLOCATED].bytes;
	s->functions = functions;
	if (quiet && f->from->verdicts->small.functions)
		sentence_say(s, "Nothing that matters grows; ");
	else if (quiet)
		sentence_say(s, f->view->bits ? "Nothing of it grows; " : "Nothing grows; ");
	if (!most) {
		sentence_say(s, words_all_freed[f->view->bits != NULL][quiet]);
		return;
	}
	s->part_bytes = most->weights[FIGURE_LEFT].bytes;
	s->part_count = most->weights[FIGURE_LEFT].count;
	if (functions == 1)
		sentence_about_function(to, s, most->stack);
	else
		sentence_name(to, s, most->stack);
	if (say_pool(s, f))
		return;
	sentence_say(s, "{bytes} in {count|block}");
	sentence_say(s, f->from->open_end ? " is not freed where the recording ends"
					  : " was never freed");
	if (functions == 1)
		sentence_say(s, ", all of it from {function}");
	else if (sentence_reads_same(s->part_bytes, s->bytes))
		sentence_say(s, ", nearly all of it from {function}");
	else
		sentence_say(s, ", {part} of it from {function}");
	if (s->pool_bytes >= s->bytes / 10 && s->pool_bytes)
		sentence_say(s, "; {pool} is kept on purpose");
}

/* Blocks that the program kept until it ended, and then freed. */
void find_held(struct sentence_list *to, const struct figures *f)
{
	const struct function_figures *most = NULL, *top;
	struct sentence *s;
	uint64_t functions;

	top = figures_most(f, FIGURE_PEAK, false, &functions);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct function_figures *g = &f->functions[i];

		if (!g->judged[JUDGED_GROWING].some && g->held_bytes &&
		    !(g == top && sentence_keeps_peak(g)) &&
		    (!most || g->held_bytes > most->held_bytes))
			most = g;
	}
	if (!most || most->held_bytes < f->all[FIGURE_PEAK].bytes / HELD_SHARE)
		return;
	s = sentence_add(to, SENTENCE_HELD);
	s->bytes = most->held_bytes;
	s->whole = f->all[FIGURE_PEAK].bytes;
	s->functions = 1;
	sentence_about_function(to, s, most->stack);
	sentence_say(s, "{bytes} of {function} was kept, and freed when the program ended");
}
