/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Taking the stack of the calling thread, cheaply because the last one is remembered.
 *
 * A struct walk belongs to one thread (and one level of signal nesting) of the target.  Frames are
 * kept outermost first.  walk_stack() leaves the current stack in it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/rule.h"

struct walk_regs {
	uint64_t pc; /* return address, found at arch_entry_slot(sp) */
	uint64_t sp; /* after the return */
	uint64_t fp;
};

enum walk_frame_flags {
	FRAME_NEEDS_FP = 1, /* this frame, or an outer one, is computed from its frame register */
	FRAME_EXACT = 2,    /* interrupted by a signal: pc is no return address */
	FRAME_ADRIFT = 4,   /* the stack register is not known: the next frame inwards is a guess,
			     * and frame pointers do not tell how large it is (arch.h) */
};

enum walk_outcome {
	WALK_COMPLETE,
	WALK_TRUNCATED, /* deeper than the limit */
	WALK_BROKEN,	/* a frame that could not be followed */
};

/* One cache line. */
struct walk_frame {
	uint64_t slot; /* where pc was read, or what else tells where the frame is (arch.h) */
	uint64_t pc;
	uint64_t fp; /* frame register in this frame */
	unwind_rule rule;
	uint64_t hash; /* of the pcs from the outermost to this one: which stack it is */
	/* Another pc that was here, with the same rule and the same outer frames: a function that
	 * allocates and frees calls us from two places in turn. */
	uint64_t other_pc;
	uint32_t other_node;
	uint32_t node;	 /* the recorder's; 0 = not looked up */
	uint32_t checks; /* how many words the outer frames rest on */
	uint32_t flags;
};

/* A word that must still be in memory for the frames outside it to be the same. */
struct walk_check {
	const arch_word *at;
	arch_word value;
};

/* A cached suffix of a stack: its inner frames, down to a frame that may still be there.  If the
 * words that it rests on are what they were, it is the same stack again, and nothing is walked
 * (walk_suffix.c).  One cache line. */
#define WALK_SUFFIX_WORDS 20u
struct walk_suffix {
	uint64_t hash; /* of these words, of the registers and of that frame */
	uint32_t node;
	uint16_t next, other; /* which suffixes came after this one; its own number: none */
	uint16_t depth;	      /* index of that frame + 1; 0: the suffix is the whole stack */
	uint16_t tag;	      /* of pc and sp: nearly all that are another are told by it */
	uint8_t count;	      /* of words, even */
	uint8_t needs_fp : 1; /* FRAME_NEEDS_FP of the innermost frame */
	uint8_t trusted : 1;  /* `next` was right the last time */
	uint16_t furthest;    /* of the words */
	uint16_t words[WALK_SUFFIX_WORDS]; /* distances from sp, in words */
};

/* Stacks with the same innermost pcs differ further out: several are found by each hash. */
#define WALK_SUFFIX_WAYS 4u
#define WALK_SUFFIX_NUMBER 0xffffu /* of a suffix, in what finds it; the rest is of the hash */
#define WALK_SETS_MAX ((WALK_SUFFIX_NUMBER + 1) / WALK_SUFFIX_WAYS)
#define WALK_SUFFIX_PCS 3u /* return addresses that they are found by */

struct walk_fresh {
	uint64_t slot, pc, fp;
	uint64_t fp_at; /* where fp was read; 0: it is the inner frame's */
	uint64_t sp_at; /* where the stack register was read; 0: it follows from the inner frame */
	struct arch_origin origin; /* of pc */
	unwind_rule rule;
	uint64_t hash;
	uint32_t flags;
};

struct walk_cached_rule {
	uint64_t key;
	unwind_rule rule;
};

#define WALK_RULES 4096u

struct walk {
	struct walk_frame *top;	   /* innermost frame; frames - 1 when there is none */
	struct walk_frame *frames; /* outermost first; frames[-1] is a sentinel above all stacks */
	struct walk_check *checks; /* outermost first */
	bool careful;		   /* some frame is not on the thread's own stack */
	bool stale;		   /* hash and identity of the top frame are those of other_pc */
	bool forgetful;		   /* no stack is remembered: each is walked from scratch */
	uint8_t outcome;	   /* enum walk_outcome of the stack kept */
	uint32_t limit;

	/* The thread's own stack, as far as it is known to be readable.  Anything else is probed
	 * page by page, each time. */
	uint64_t stack_low, stack_high;
	uint64_t gap;	  /* an unreadable place below stack_low, 0 if none was met */
	uint64_t ok_page; /* readable elsewhere, good for one walk */
	bool elsewhere;	  /* this walk has read there */
	bool (*probe)(const void *p);

	struct walk_fresh *fresh; /* innermost first */
	struct walk_frame *met;	  /* what the last walk met */
	uint32_t check_count;
	uint32_t epoch;	       /* raised when everything is forgotten */
	uint32_t suffix_count; /* remembered since then */
	uint64_t *identities;  /* of each frame: a hash of all slots, pcs and registers up to it */
	/* In the order in which they were remembered, the oldest being replaced: suffixes that come
	 * one after the other lie together, and share pages and lines of the caches. */
	struct walk_suffix *suffixes;
	uint32_t *suffix_sets; /* numbers of suffixes, by hash */
	uint32_t suffix_mask;  /* sets - 1 */
	uint32_t last_suffix;  /* that was met */
	/* Where the owner will look the hash up: asked for as soon as it is known. */
	const void *table;
	uint64_t table_mask, table_step;
	struct walk_cached_rule rules[WALK_RULES];
};

/* `sets` is how many sets of suffixes are cached, a power of two: a quarter kilobyte each. */
size_t walk_size(uint32_t limit, uint32_t sets);
/* Prepares zeroed memory of walk_size(). */
struct walk *walk_init(void *memory, uint32_t limit, uint32_t sets, bool (*probe)(const void *p));
/* The thread's stack lies below `high`. */
void walk_set_stack(struct walk *w, uint64_t high);
/* Forgets the last stack and all rules. */
void walk_forget(struct walk *w);
/* Called once the node of the stack just taken is known, so that the stack is known next time. */
void walk_remember(struct walk *w, struct walk_regs regs, uint32_t node);
/* Does the way outwards lead to the frame whose return address is at `slot`, by a return to
 * `through`, and not across a signal?  True too if it cannot be followed that far. */
bool walk_leads_to(struct walk *w, struct walk_regs regs, uint64_t through, uint64_t slot);
void walk_slowly(struct walk *w, struct walk_regs regs);
/* The rest of walk_stack(), for a stack that is not the last one again. */
uint32_t walk_another(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp);

static inline uint32_t walk_rule_slot(uint64_t key)
{
	return (uint32_t)(key ^ key >> 12) % WALK_RULES;
}

static inline uint64_t walk_check_four(const struct walk_check *c)
{
	return (*c[0].at ^ c[0].value) | (*c[1].at ^ c[1].value) | (*c[2].at ^ c[2].value) |
	       (*c[3].at ^ c[3].value);
}

/* The innermost four first, since it is there that stacks differ; then the others four at a time,
 * some perhaps a second time: no branch on what is left over. */
static inline bool walk_checks_hold(const struct walk_check *c, uint32_t n)
{
	const struct walk_check *last = c + n - 4;
	uint64_t difference = 0;

	if (__builtin_expect(n >= 4, 1)) {
		if (walk_check_four(last))
			return false;
		for (; c < last; c += 4)
			difference |= walk_check_four(c);
		return !difference;
	}
	while (n-- > 0)
		difference |= *c[n].at ^ c[n].value;
	return !difference;
}

/* Takes the stack.  Returns its node if it is one that was remembered; else 0, and the stack is in
 * the frames, the innermost being w->top.  Most events come from the function that the last one
 * came from, most others from a place that was seen before. */
static inline uint32_t walk_stack(struct walk *w, struct walk_regs regs)
{
	struct walk_frame *top = w->top;

	if (top->slot == arch_entry_slot(regs.sp) &&
	    (top->fp == regs.fp || !(top->flags & FRAME_NEEDS_FP)) && !w->careful) {
		if (top->pc == regs.pc) {
			if (__builtin_expect(walk_checks_hold(w->checks, top->checks), 1))
				return top->node;
		} else if (top->other_pc == regs.pc && top->node) {
			if (__builtin_expect(walk_checks_hold(w->checks, top->checks), 1)) {
				uint32_t node = top->node;

				top->other_pc = top->pc;
				top->pc = regs.pc;
				top->node = top->other_node;
				top->other_node = node;
				w->checks[top->checks].value = regs.pc;
				/* Hash and identity are brought up to date when they are needed. */
				w->stale = true;
				w->identities[top - w->frames] = 0;
				return top->node;
			}
		}
	}
	return walk_another(w, regs.pc, regs.sp, regs.fp);
}
