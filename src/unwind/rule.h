/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How to get from a frame to the one outside it, in one word.
 *
 * What .eh_frame says about one return address, decoded once (cfi.c) and kept (rules.c).  The
 * walker needs nothing else.  Only the stack and the frame register are followed: no compiler
 * computes a frame from another one across a call.
 *
 *   bits  0..3   kind
 *   bits  4..25  offset in words, signed: of the CFA from its register
 *   bits 26..39  where the caller's frame register was saved: words below the CFA, 0 = not; where
 *                there are two such registers (arch.h), seven bits for each
 *   bits 40..47  where the return address was saved: words below the CFA, less ARCH_RETURN_MIN, or
 *                what the processor's folder makes of it (arch.h)
 *   bits 48..63  index of the module that the address is in, 0 = none known */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/arch.h"

#ifndef ARCH_WORD
#define ARCH_WORD 8
typedef uint64_t arch_word;
#endif

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
	/* Where there is a link register: */
	RULE_LINK,    /* CFA = stack register + offset; the return address is still in the register.
		       * Only a frame that a signal has interrupted can be like this */
	RULE_RECORD,  /* CFA = frame register + offset, and the caller's frame register and the
		       * return address are where it points: frames too large for the other rules */
	RULE_LINK_FP, /* as RULE_LINK, with CFA = frame register + offset */
	RULE_FP_HIGH, /* RULE_FP by the second frame register, where there are two */
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
	return ((int64_t)(r << 38) >> 42) * ARCH_WORD;
}

static inline uint64_t rule_saved(unwind_rule r)
{
#ifdef ARCH_TWO_FRAME_REGISTERS
	/* The lower of the two places. */
	uint64_t low = arch_saved_low(r), high = arch_saved_high(r);

	return low > high ? low : high;
#else
	return (r >> 26 & 0x3fff) << 3;
#endif
}

/* Does the function save all that outer frames may be computed from? */
static inline bool rule_saves_fp(unwind_rule r)
{
#ifdef ARCH_TWO_FRAME_REGISTERS
	return r >> 26 & 0x7f && r >> 33 & 0x7f;
#else
	return rule_saved(r);
#endif
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

/* The register that is 0 in the loader's entry. */
#ifdef ARCH_TWO_FRAME_REGISTERS
#define RULE_OUTERMOST(fp) ((fp) >> 32)
#else
#define RULE_OUTERMOST(fp) (fp)
#endif

/* What a rule of kind RULE_FP starts at. */
static inline uint64_t rule_fp_base(uint64_t fp)
{
#ifdef ARCH_TWO_FRAME_REGISTERS
	return (uint32_t)fp;
#else
	return fp;
#endif
}

static inline uint64_t rule_word(uint64_t at)
{
	return *(const arch_word *)(uintptr_t)at;
}

/* The caller's frame register, which the function has saved. */
static inline uint64_t rule_read_fp(__attribute__((unused)) uint64_t fp, uint64_t cfa,
				    unwind_rule r)
{
#ifdef ARCH_TWO_FRAME_REGISTERS
	uint64_t low = arch_saved_low(r), high = arch_saved_high(r);

	return (low ? rule_word(cfa - low) : (uint32_t)fp) |
	       (high ? rule_word(cfa - high) : fp >> 32) << 32;
#else
	return rule_word(cfa - rule_saved(r));
#endif
}

/* Does the frame's own CFA depend on the frame register? */
static inline bool rule_uses_fp(unwind_rule r)
{
	enum unwind_kind k = rule_kind(r);

	return k == RULE_FP || k == RULE_FP_DEREF || k == RULE_GUESS || k == RULE_SWITCH ||
	       (ARCH_LINK_REGISTER && (k == RULE_RECORD || k == RULE_LINK_FP || k == RULE_FP_HIGH));
}
