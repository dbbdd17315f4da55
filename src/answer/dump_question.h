/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What is asked about heap profile dumps: the parameters that all of these questions
 * share, and the profiles that answer.  One thread at a time, as with the ask. */
#include "answer/question.h"
#include "base/pattern.h"
#include "heap/loaded_dump.h"
#include "heap/top.h"

struct dump_question {
	struct profile_options options;
	enum heap_measure measure;
	struct pattern *focus, *ignore, *retain, *exclude;
	struct snapshot *base; /* NULL: it is no difference */
};

/* Reads the parameters: 0, or -EINVAL after ask_fail().  Released in either case. */
int dump_question_init(struct dump_question *q, struct ask *a);
void dump_question_release(struct dump_question *q);

/* The expression that a parameter has, if it is given, for pattern_free(): 0, or -EINVAL after
 * ask_fail(). */
int dump_question_pattern(struct ask *a, const char *name, struct pattern **ret_pattern);

/* The profile of a dump, less that of `base` if it is not NULL: 0, or -EINVAL after ask_fail().  To
 * be released in either case. */
int dump_question_ask(const struct dump_question *q, struct ask *a, const struct loaded_dump *d,
		      const struct loaded_dump *base, struct profile *ret_profile);

/* "measure", "by"; and `key`: {…} of the base, if there is one. */
void dump_question_json(struct json *j, const struct dump_question *q, const char *key);

#define DUMP_MEASURES "inuse_space|inuse_objects|alloc_space|alloc_objects"
#define PARAMS_DUMP                                                                                \
	{ "measure", PARAM_CHOICE, "inuse_space", "what is weighed", .values = DUMP_MEASURES },    \
		{ "by", PARAM_CHOICE, "function", "what a frame is",                               \
		  .values = "function|line|file|address" },                                        \
		{ "thread", PARAM_NUMBER, NULL, "only what this thread allocated" },               \
		{ "focus", PARAM_TEXT, NULL, "regex: only stacks through such a frame" },          \
		{ "ignore", PARAM_TEXT, NULL, "regex: no stacks through such a frame" },           \
		{ "retain", PARAM_TEXT, NULL, "regex: only such frames of each stack" },           \
		{ "exclude", PARAM_TEXT, NULL, "regex: no such frames; stacks close up" },         \
		{ "allocator", PARAM_BOOL, "false", "keep the allocator's own frames" },           \
	{                                                                                          \
		"base", PARAM_RECORDING, NULL, "another heap profile: a difference"                \
	}
