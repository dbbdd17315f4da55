/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How to get from a frame to the one outside it, in one word.
 *
 * What .eh_frame says about one return address, decoded once (cfi.c) and kept (rules.c).  The
 * walker needs nothing else.  Only the stack and the frame register are followed: no compiler
 * computes a frame from another one across a call.
 *
 *   bits  0..3   kind
 *   bits  4..25  offset / 8, signed: of the CFA from its register
 *   bits 26..39  where the caller's frame register was saved: 8-byte words below the CFA, 0 = not
 *   bits 40..47  where the return address was saved: words below the CFA, less ARCH_RETURN_MIN
 *   bits 48..63  index of the module that the address is in, 0 = none known */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/arch.h"

typedef uint64_t unwind_rule;

enum unwind_kind {
	RULE_UNKNOWN,  /* not decoded yet */
	RULE_SP,       /* CFA = stack register + offset */
	RULE_FP,       /* CFA = frame register + offset */
	RULE_FP_DEREF, /* CFA = *(frame register + offset); realigned stacks.  The caller's frame
			* register is at *(frame register) if `saved` is not 0 */
	RULE_GUESS,    /* no unwind information: a frame pointer chain is assumed and checked */
	RULE_SIGNAL,   /* the kernel's signal frame */
	RULE_END,      /* outermost frame */
	RULE_SWITCH,   /* the same, on another stack: where Go calls C, or C calls Go; offset / 8 is
			* which (arch.h) */
	RULE_BROKEN,   /* unwind information that is not understood */
};

#define RULE_OFFSET_MAX ((1 << 21) - 1)
#define RULE_SAVED_MAX ((1 << 14) - 1)

static inline unwind_rule rule_make(enum unwind_kind kind, int64_t offset, uint64_t saved)
{
	return (uint64_t)kind | ((uint64_t)offset & 0x3fffff) << 4 | saved << 26;
}

static inline enum unwind_kind rule_kind(unwind_rule r)
{
	return (enum unwind_kind)(r & 15);
}

/* In bytes. */
static inline int64_t rule_offset(unwind_rule r)
{
	return ((int64_t)(r << 38) >> 42) * 8;
}

static inline uint64_t rule_saved(unwind_rule r)
{
	return (r >> 26 & 0x3fff) << 3;
}

/* In words below the CFA. */
static inline uint64_t rule_return(unwind_rule r)
{
	return (r >> 40 & 0xff) + ARCH_RETURN_MIN;
}

static inline unwind_rule rule_with_return(unwind_rule r, uint64_t words)
{
	return (r & ~(0xffull << 40)) | (words - ARCH_RETURN_MIN) << 40;
}

static inline unsigned rule_module(unwind_rule r)
{
	return (unsigned)(r >> 48);
}

static inline unwind_rule rule_with_module(unwind_rule r, unsigned module)
{
	return (r & 0x0000ffffffffffffull) | (uint64_t)module << 48;
}

/* Does the frame's own CFA depend on the frame register? */
static inline bool rule_uses_fp(unwind_rule r)
{
	enum unwind_kind k = rule_kind(r);

	return k == RULE_FP || k == RULE_FP_DEREF || k == RULE_GUESS || k == RULE_SWITCH;
}
