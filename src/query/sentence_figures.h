/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The figures that sentences are made from: what each responsible function has. */
#include "query/measure.h"
#include "query/responsible.h"
#include "query/sentence.h"

enum { FIGURE_ALLOCATED, FIGURE_PEAK, FIGURE_LEFT, FIGURE_TEMPORARY, FIGURE_WEIGHTS };

/* Of the verdicts on a function's stacks, those of one kind. */
struct judged {
	uint64_t bytes;	   /* kept, or left */
	uint64_t since_ns; /* its growth began; it has not grown */
	double bytes_per_second;
	bool some;  /* any at all */
	bool freed; /* at exit: all of them */
	bool moves; /* there is no moment since when */
	bool level; /* it goes up and down: what moves does */
};

enum judgement { JUDGED_GROWING, JUDGED_UNCLEAR, JUDGED_SETTLED, JUDGEMENTS };

struct function_figures {
	uint32_t unit;	/* 0: what has no known stack */
	uint32_t stack; /* of the stacks it has, the one that allocated most */
	uint64_t most;	/* bytes of that one */
	struct weight weights[FIGURE_WEIGHTS];
	struct judged judged[JUDGEMENTS];
	uint64_t held_bytes; /* kept for a good part of the work, and freed at exit */
	uint64_t pool_bytes; /* kept on purpose */
};

struct figures {
	const struct sentence_sources *from;
	const struct view *view;
	const struct responsible *responsible;
	struct weight all[FIGURE_WEIGHTS];
	struct function_figures *functions;
	uint32_t count;
	size_t room;
	bool judged;	     /* verdicts count: there are some, and they rest on enough */
	bool rows_are_whole; /* no allocation was taken out of the recording */
	bool is_whole;	     /* nothing of it was lost */
};

void figures_init(struct figures *f, const struct sentence_sources *from);
void figures_release(struct figures *f);
/* The function that has most bytes (`by_count`: most calls) of a weight; NULL if none has any.
 * *ret_functions: how many have. */
const struct function_figures *figures_most(const struct figures *f, unsigned weight, bool by_count,
					    uint64_t *ret_functions);
/* The same of other sums, which are of the same recording: bits of rows. */
struct figures_chosen {
	struct weight all;
	uint64_t largest;
	uint32_t stack; /* of the function with most calls */
	struct weight most;
	uint64_t functions;
};
void figures_choose(const struct figures *f, const char *expression, struct figures_chosen *ret);
/* What the allocator gave, beyond what was asked for, of what was alive at the peak. */
uint64_t figures_peak_slack(const struct figures *f);
