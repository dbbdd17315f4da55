/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a recording says of its program and of itself, in figures: the question facts, and the most
 * of memoir info --json.  What this computer has to say to it (files with names, packages), and the
 * program's environment, is the command's alone.  Any thread. */
#include "answer/question.h"
#include "model/stats.h"

extern const struct question question_facts; /* a struct stack_counts */

/* Members of an object that the caller opens and closes: all of them, and parts that others have.
 */
void facts_json(struct json *j, const struct model *m, const struct stack_counts *s);
void facts_program_json(struct json *j, const struct model *m);
/* lost_events, truncated, damaged, loss. */
void facts_loss_json(struct json *j, const struct model *m);
/* "key": […]: a value that is many words, each with a NUL behind it. */
void facts_words_json(struct json *j, const struct model *m, const char *key);
