/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Allocations and groups as JSON, in the shape that scripts and pages know: the command line prints
 * it and the server sends it.
 *
 * Timeval: {"secs": …, "fract_nsecs": …}; what ends in _relative is since the start of the program,
 * what ends in _relative_p is the part of the run time, 0 to 1.  Stacks have the outermost frame
 * first; the last one is the intercepted call.  A struct answer belongs to one thread at a time;
 * functions that take it const may be called by several, once answer_count() is done. */
#include "base/buf_type.h"
#include "base/json.h"
#include "query/clock.h"
#include "query/group.h"
#include "query/view.h"

#define ANSWER_CALLS 128 /* that the columns' tags have room for */

struct responsible;

struct answer {
	const struct view *view;
	const struct responsible *responsible; /* of the view; NULL: not asked for yet */
	struct model_clock clock;
	uint64_t start_ns;   /* since 1970 */
	uint64_t runtime_ns; /* at least 1 */
	bool glibc;	     /* is the allocator */
	bool jemalloc_calls[ANSWER_CALLS];
	bool jemalloc_inside;
	uint64_t *location_counts; /* allocations that go through a location */
	uint64_t *call_counts;	   /* and through a call */
	/* Frames that were written before, by node: where in `texts`.  Compact JSON only. */
	struct answer_text {
		size_t offset, size;
	} * node_texts;
	struct buf texts;
	/* Writes "key": [frames] instead of answer_backtrace(); NULL: that. */
	void (*put_stack)(void *context, struct json *j, const char *key, uint32_t stack,
			  unsigned call);
	void *put_stack_context;
	/* What an answer may be asked for beyond that; zeroed: nothing. */
	bool no_stacks;					      /* leave all frames out */
	void (*shorten)(const char *name, struct buf *out);   /* names of functions */
	void (*graph)(const struct answer *a, struct json *j, /* graph_url, graph_preview_url */
		      uint32_t stack, bool matched);
	void *context; /* its own */
};

void answer_init(struct answer *a, const struct view *v);
void answer_release(struct answer *a);
/* Fills location_counts and call_counts, which take a pass over all rows; else done when the first
 * stack is written. */
void answer_count(struct answer *a);

/* A known stack's number, or 0. */
uint32_t answer_stack(const struct model *m, uint32_t stack);

/* Parts of an answer.  A Timeval; "name", "name_relative" and "name_relative_p" of a literal;
 * "address" and "address_s". */
void answer_timeval(struct json *j, const char *key, uint64_t ns);
void answer_moment_named(const struct answer *a, struct json *j, uint64_t stamp, const char *name,
			 const char *relative, const char *part);
#define answer_moment(a, j, name, stamp)                                                           \
	answer_moment_named(a, j, stamp, name, name "_relative", name "_relative_p")
void answer_address(struct json *j, uint64_t value);
/* answer_backtrace(), or what was put in its place. */
void answer_put_stack(struct answer *a, struct json *j, const char *key, uint32_t stack,
		      unsigned call);

void answer_allocation(struct answer *a, struct json *j, uint32_t row);
/* The fields of a group, in an object that the caller opens and closes. */
void answer_group(struct answer *a, struct json *j, const struct groups *g,
		  const struct group *group);
/* The frames of one node, outermost first, each with whose it is; counted before.  Several threads
 * that write them set `responsible` first. */
void answer_frames(const struct answer *a, struct json *j, uint32_t node);
/* The innermost frame of a stack: the intercepted call; counted before. */
void answer_call(const struct answer *a, struct json *j, unsigned call);
/* "key": [frames], outermost first. */
void answer_backtrace(struct answer *a, struct json *j, const char *key, uint32_t stack,
		      unsigned call);
