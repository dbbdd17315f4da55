/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording's sentences as an answer has them: their evidence as something that can be asked. */
#include "answer/question.h"
#include "query/sentence.h"

/* The sentences on what a view chooses; of the whole process only if that is all of it. */
void sentences_of_view(struct sentences *ret, const struct snapshot *s, const struct view *v,
		       const struct verdicts *verdicts, const struct process_memory *memory);
/* "sentences": […]. */
void sentences_json(struct json *j, const struct view *v, const struct sentences *all);
/* Tells each filter that chooses what a sentence is about, of what the view does: "filter" and its
 * expression; "hide", "own" and what they say of frames. */
void sentence_filters(const struct view *v, const struct sentence *s,
		      void (*tell)(void *context, const char *name, const char *value),
		      void *context);
/* "memory": {…}: what the whole process had. */
void sentences_memory_json(struct json *j, const struct model *m, const struct process_memory *p);
