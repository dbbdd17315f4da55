/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A check as the command line asks for it: what is required, the runs, the baseline; and its result
 * as text, JSON, JUnit, Markdown and annotations.  One at a time: `memoir check`, or the end of
 * `memoir run --check`. */
#include "answer/requirements.h"
#include "base/term.h"
#include "check/suppressions.h"

struct buf;

struct check_words {
	char **rows;
	size_t count, room;
};

struct checking {
	struct answer_requirements answer;
	struct check_words baselines, ignored, suppression_files; /* as they were given */
	struct check_words rules;				  /* scripts that require more */
	const char *rules_now;					  /* the one that is run */
	bool as_json;
	const char *subject; /* the recording's name, or how many runs */
	const char *before_path;
	struct suppressions suppressions;
	uint64_t suppressed_blocks, suppressed_bytes; /* of the run that had most */
	int status;				      /* the worst of the files */
};

/* check_rules.c: one more limit, growth or word, unless it is there.  0, or -EINVAL with err. */
void checking_add_word(struct check_words *w, const char *word);
int checking_add_limit(struct checking *c, enum check_measure m, const char *value,
		       struct err *err);
int checking_add_growth(struct checking *c, const char *text, struct err *err);
/* Runs the rules on a recording: false after saying what is wrong. */
bool checking_run_rules(struct checking *c, struct snapshot *s);
/* check_text.c */
void check_print(const struct checking *c, const struct term *term, struct buf *out);
/* check_reports.c */
void check_junit(const struct checking *c, struct buf *out);
void check_markdown(const struct checking *c, struct buf *out);
void check_annotations(const struct checking *c, struct buf *out);
/* "103 MiB; baseline 100 MiB to 101 MiB, at most 102 MiB" of a result. */
void check_sentence(struct buf *out, const struct check_result *r);
/* "12 of at most 10", "+3.00 MiB": a stack of a result, without its name. */
void check_stack_sentence(struct buf *out, const struct check_result *r,
			  const struct check_stack *s);
