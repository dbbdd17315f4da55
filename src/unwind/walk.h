/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Taking the stack of the calling thread, cheaply because the last one is remembered.
 *
 * A struct walk belongs to one thread (and one level of signal nesting) of the target.  Frames are
 * kept outermost first.  walk_stack() leaves the current stack in it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

struct walk_regs {
	uint64_t pc; /* return address, found at sp - 8 */
	uint64_t sp; /* after the return */
	uint64_t fp;
};

enum walk_frame_flags {
	FRAME_NEEDS_FP = 1, /* this frame, or an outer one, is computed from its frame register */
	FRAME_EXACT = 2,    /* interrupted by a signal: pc is no return address */
};

enum walk_end {
	WALK_COMPLETE,
	WALK_TRUNCATED, /* deeper than the limit */
	WALK_BROKEN,    /* a frame that could not be followed */
};

/* One cache line. */
struct walk_frame {
	uint64_t slot; /* where pc was read */
	uint64_t pc;
	uint64_t fp;   /* frame register in this frame */
	unwind_rule rule;
	uint64_t hash; /* of the frames from the outermost to this one */
	/* Another pc that was here, with the same rule and the same outer frames: a function that
	 * allocates and frees calls us from two places in turn. */
	uint64_t other_pc;
	uint32_t other_node;
	uint32_t node; /* the recorder's; 0 = not looked up */
	uint32_t checks; /* how many words the outer frames rest on */
	uint32_t flags;
};

/* A word that must still be in memory for the frames outside it to be the same. */
struct walk_check {
	const uint64_t *at;
	uint64_t value;
};

struct walk_fresh {
	uint64_t slot, pc, fp;
	uint64_t fp_at; /* where fp was read; 0: it is the inner frame's */
	unwind_rule rule;
	uint32_t flags;
};

struct walk_cached_rule {
	uint64_t key;
	unwind_rule rule;
};

#define WALK_RULES 1024u

struct walk {
	struct walk_frame *top;    /* innermost frame; frames - 1 when there is none */
	struct walk_frame *frames; /* outermost first; frames[-1] is a sentinel above all stacks */
	struct walk_check *checks; /* outermost first */
	bool careful;              /* some frame is not on the thread's own stack */
	uint8_t end;               /* enum walk_end of the stack kept */
	uint32_t limit;

	/* The thread's own stack, as far as it is known to be readable.  Anything else is probed
	 * page by page, each time. */
	uint64_t stack_low, stack_high;
	uint64_t gap;     /* an unreadable place below stack_low, 0 if none was met */
	uint64_t ok_page; /* readable elsewhere, good for one walk */
	bool (*probe)(const void *p);

	struct walk_fresh *fresh; /* innermost first */
	struct walk_cached_rule rules[WALK_RULES];
};

size_t walk_size(uint32_t limit);
/* Prepares zeroed memory of walk_size(). */
struct walk *walk_init(void *memory, uint32_t limit, bool (*probe)(const void *p));
/* The thread's stack lies below `high`. */
void walk_set_stack(struct walk *w, uint64_t high);
/* Forgets the last stack and all rules. */
void walk_forget(struct walk *w);
struct walk_frame *walk_slowly(struct walk *w, struct walk_regs regs);

static inline uint32_t walk_depth(const struct walk *w)
{
	return (uint32_t)(w->top + 1 - w->frames);
}

static inline uint64_t walk_mix(uint64_t hash, uint64_t pc, unwind_rule rule)
{
	hash = (hash << 5 ^ hash >> 59 ^ pc ^ rule >> 48 << 48) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Do the n outermost checks hold? */
static inline bool walk_checks_hold(const struct walk *w, uint32_t n)
{
	const struct walk_check *c = w->checks, *end = c + (n & ~7u);
	uint64_t a = 0, b = 0;

	for (; c < end; c += 8) {
		a |= (*c[0].at ^ c[0].value) | (*c[1].at ^ c[1].value) | (*c[2].at ^ c[2].value) |
		     (*c[3].at ^ c[3].value);
		b |= (*c[4].at ^ c[4].value) | (*c[5].at ^ c[5].value) | (*c[6].at ^ c[6].value) |
		     (*c[7].at ^ c[7].value);
	}
	for (end += n & 7; c < end; c++)
		a |= *c->at ^ c->value;
	return !(a | b);
}

/* Takes the stack and returns its innermost frame, whose hash is that of the whole.  Most events
 * come from the function that the last one came from. */
static inline struct walk_frame *walk_stack(struct walk *w, struct walk_regs regs)
{
	struct walk_frame *top = w->top;

	if (__builtin_expect(top->slot == regs.sp - 8 &&
				     (top->fp == regs.fp || !(top->flags & FRAME_NEEDS_FP)) &&
				     !w->careful,
			     1)) {
		if (top->pc == regs.pc) {
			if (__builtin_expect(walk_checks_hold(w, top->checks), 1))
				return top;
		} else if (top->other_pc == regs.pc) {
			if (__builtin_expect(walk_checks_hold(w, top->checks), 1)) {
				uint32_t node = top->node;

				top->other_pc = top->pc;
				top->pc = regs.pc;
				top->node = top->other_node;
				top->other_node = node;
				top->hash = walk_mix(top[-1].hash, regs.pc, top->rule);
				w->checks[top->checks].value = regs.pc;
				return top;
			}
		}
	}
	return walk_slowly(w, regs);
}
