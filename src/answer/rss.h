/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question rss answers. */
#include "answer/question.h"
#include "query/resident.h"

struct answer_rss {
	const struct view *view;
	bool sampled; /* there is a sample of the maps; else nothing is known */
	uint64_t asked_ns;
	struct resident resident;
	uint32_t skip;	 /* parts of a term that are not shown */
	uint32_t most;	 /* those that are */
	unsigned opened; /* the term whose parts were asked for; RESIDENT_TERMS: all */
	struct resident_moment *series; /* over time */
	size_t series_count;
};

/* How many of a term's `count` parts are shown, and how many come before them. */
size_t answer_rss_parts(const struct answer_rss *shown, size_t term, size_t count);
size_t answer_rss_skipped(const struct answer_rss *shown, size_t count);

extern const struct question question_rss;
