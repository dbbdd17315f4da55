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
	FRAME_NEEDS_FP = 1, /* an outer frame, or this one, is computed from its frame register */
	FRAME_EXACT = 2,    /* interrupted by a signal: pc is no return address */
};

enum walk_end {
	WALK_COMPLETE,
	WALK_TRUNCATED, /* deeper than the limit */
	WALK_BROKEN,    /* a frame that could not be followed */
};

struct walk_frame {
	uint64_t pc;
	uint64_t slot;  /* where pc was read */
	uint64_t fp;    /* frame register in this frame */
	uint64_t fp_at; /* where that was read, 0 if it was in the register all along */
};

struct walk_cached_rule {
	uint64_t key;
	unwind_rule rule;
};

#define WALK_RULES 1024u

struct walk {
	/* The thread's own stack, as far as it is known to be readable.  Anything else is probed
	 * page by page, each time. */
	uint64_t stack_low, stack_high;
	uint64_t gap;      /* an unreadable place below stack_low, 0 if none was met */
	uint64_t ok_page;  /* readable elsewhere, good for one walk */
	bool (*probe)(const void *p);

	uint32_t limit;
	uint32_t count;
	uint32_t known;     /* frames [0, known) have their hash and node as before this walk */
	uint8_t end;        /* enum walk_end of the stack kept */
	bool careful;       /* some of it is not on the thread's own stack */
	uint64_t walked;    /* frames followed by rules, ever */

	struct walk_frame *frames;
	uint64_t *hashes;      /* of the frames from the outermost to this one */
	uint32_t *nodes;       /* the recorder's; 0 = not looked up */
	uint8_t *flags;
	uint16_t *modules;
	uint32_t *check_start; /* the first check that belongs to the frame */

	/* What must still be in memory for the frames to be the same: outermost first. */
	const uint64_t **check_at;
	uint64_t *check_value;

	struct walk_frame *fresh; /* innermost first */
	unwind_rule *fresh_rules;
	uint8_t *fresh_flags;

	struct walk_cached_rule rules[WALK_RULES];
};

size_t walk_size(uint32_t limit);
/* Prepares zeroed memory of walk_size(). */
struct walk *walk_init(void *memory, uint32_t limit, bool (*probe)(const void *p));
/* The thread's stack lies below `high`. */
void walk_set_stack(struct walk *w, uint64_t high);
/* Forgets the last stack and all rules. */
void walk_forget(struct walk *w);
/* Takes the stack; its hash is hashes[count - 1].  0 frames only if the first pc is none. */
void walk_stack(struct walk *w, struct walk_regs regs);
