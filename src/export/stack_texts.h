/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Every stack of a view as JSON, written once and kept: rows that have whole stacks point to it.
 *
 * A frame is written once, however many stacks go through it, in the order of spines.h, so that a
 * stack is a few pieces.  All of it is in a file when it is large (scratch.h); what is in memory is
 * some thirty bytes for each node of the recording.  Made by the exporter's thread, then only read,
 * by any. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/json.h"
#include "base/scratch.h"
#include "query/answer.h"
#include "query/spines.h"

struct rope;

struct stack_texts {
	struct answer answer; /* that the frames are written by */
	struct spines spines;
	uint8_t *used;	     /* by node: is it the stack of a row? */
	struct scratch text; /* frames in the order of places, a comma before each */
	uint64_t *at;	     /* by place: where its frames end */
	size_t size;
	struct buf calls; /* the innermost frames, likewise */
	size_t *call_at;  /* by call; one more */
};

/* Stacks of the view's allocations, and of their frees too where `of_frees`. */
void stack_texts_init(struct stack_texts *t, const struct view *v, bool of_frees);
void stack_texts_release(struct stack_texts *t);

/* "key": [frames], outermost first, the last one being the call; `j` writes into r->text. */
void stack_texts_put(const struct stack_texts *t, struct rope *r, struct json *j, const char *key,
		     uint32_t stack, unsigned call);
/* The same without the call. */
void stack_texts_put_frames(const struct stack_texts *t, struct rope *r, struct json *j,
			    const char *key, uint32_t stack);
