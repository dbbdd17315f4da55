/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The decoder of .ARM.exidx and .ARM.extab: cfi.h's functions for ARM with 32 bits, which has these
 * tables instead of .eh_frame.
 *
 * The index has two words for each function, in the order of their addresses: where it starts, and
 * how to leave it.  The latter are up to three operations, or where more are in .ARM.extab, with
 * those of a personality routine before what that routine needs for itself.  Operations undo the
 * function's prologue: what they pop, and in which order, is where it was saved.
 *
 * They describe a function behind its prologue.  An address that a signal interrupted (an even one:
 * those of calls are inside the call) may be in the prologue or at the end: there the instructions
 * say how far the stack is (interrupted.c).
 *
 * Runs inside the target as cfi.c does: no allocation, no lock, no call, every read checked against
 * the image's bounds (fuzz/fuzz_exidx.c). */
#include <stdbool.h>

#include "unwind/arch.h"
#include "unwind/arm/interrupted.h"
#include "unwind/cfi.h"

#define ENTRY 8 /* bytes of the index for each function */
#define CANNOT_UNWIND 1u
#define OPERATIONS_MAX 1024 /* bytes: an extab has no more */

static bool read_word(const struct cfi_image *image, uint64_t at, uint32_t *ret)
{
	const uint8_t *p;

	if (at < (uintptr_t)image->low || at > (uintptr_t)image->high ||
	    (uintptr_t)image->high - at < 4)
		return false;
	p = image->low + (at - (uintptr_t)image->low);
	*ret = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return true;
}

/* The address that a word at `at` says relative to itself, in 31 bits. */
static uint64_t relative(uint64_t at, uint32_t word)
{
	return at + (uint64_t)(int64_t)((int32_t)(word << 1) >> 1);
}

/* The entry of the function that the address is in: the last that does not start behind it. */
static bool find_entry(const struct cfi_image *image, uint64_t address, uint64_t *ret_at,
		       uint64_t *ret_start)
{
	uint64_t base = (uintptr_t)image->eh_frame_hdr, low = 0, high = image->entries;
	uint32_t word;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2, at = base + middle * ENTRY;

		if (!read_word(image, at, &word))
			return false;
		if (relative(at, word) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*ret_at = base + (low - 1) * ENTRY;
	return read_word(image, *ret_at, &word) && (*ret_start = relative(*ret_at, word), true);
}

/* The operations of a function: bytes, from the highest of each word to the lowest. */
struct operations {
	const struct cfi_image *image;
	uint64_t at;	      /* of the word that the next byte is in */
	unsigned next, count; /* in bytes, from the first word's highest on */
	bool bad;
};

static unsigned next_operation(struct operations *o)
{
	uint32_t word;

	if (o->next == o->count)
		return 0xb0; /* what is not there is the end */
	if (!read_word(o->image, o->at + (o->next & ~3u), &word)) {
		o->bad = true;
		return 0xb0;
	}
	return word >> (24 - 8 * (o->next++ & 3)) & 0xff;
}

/* Finds them by the second word of the index.  False where there are none that can be used. */
static bool find_operations(const struct cfi_image *image, uint64_t at, uint32_t word,
			    struct operations *o)
{
	*o = (struct operations){ .image = image, .at = at };
	if (!(word & 1u << 31)) {
		o->at = relative(at, word);
		if (!read_word(image, o->at, &word))
			return false;
		if (!(word & 1u << 31)) {
			/* A routine of the language's: its data begins like that of the others, but
			 * for the number of words being first. */
			o->at += 4;
			if (!read_word(image, o->at, &word))
				return false;
			o->next = 1;
			o->count = 4 + 4 * (word >> 24);
			return true;
		}
	}
	switch (word >> 24 & 15) {
	case 0:
		o->next = 1;
		o->count = 4;
		break;
	case 1:
	case 2:
		o->next = 2;
		o->count = 4 + 4 * (word >> 16 & 0xff);
		break;
	default:
		return false;
	}
	return (word >> 28) == 8;
}

/* While operations are carried out, `vsp` is where the stack is. */
static void pop(struct arm_frame *f, uint32_t mask)
{
	for (unsigned i = 0; i < 16; i++)
		if (mask >> i & 1) {
			f->at[i] = f->vsp;
			f->has |= 1u << i;
			f->vsp += 4;
		}
}

/* False where it cannot be followed. */
static bool carry_out(struct operations *o, struct arm_frame *f)
{
	unsigned op, n, shift;
	uint64_t more;

	while ((op = next_operation(o)) != 0xb0) {
		if (op < 0x40) {
			f->vsp += (int64_t)(op << 2) + 4;
		} else if (op < 0x80) {
			f->vsp -= (int64_t)((op & 0x3f) << 2) + 4;
		} else if (op < 0x90) {
			n = (op & 15) << 8 | next_operation(o);
			if (!n || n & 1u << (ARM_SP - 4))
				return false;
			pop(f, n << 4);
		} else if (op < 0xa0) {
			n = op & 15;
			/* What was popped before was from elsewhere. */
			if ((n != ARM_R7 && n != ARM_R11) || f->has)
				return false;
			f->base = n;
			f->vsp = 0;
		} else if (op < 0xb0) {
			pop(f, ((2u << (op & 7)) - 1) << ARM_R4 | (op & 8 ? 1u << ARM_LR : 0));
		} else if (op == 0xb1) {
			n = next_operation(o);
			if (!n || n > 15)
				return false;
			pop(f, n);
		} else if (op == 0xb2) {
			more = shift = 0;
			do {
				n = next_operation(o);
				if (shift < 28)
					more |= (uint64_t)(n & 0x7f) << shift;
				else if (n & 0x7f)
					return false;
				shift += 7;
			} while (n & 0x80 && !o->bad);
			f->vsp += 0x204 + (int64_t)(more << 2);
		} else if (op == 0xb3) { /* floating-point registers, as FSTMX saved them */
			f->vsp += 8 * (int64_t)((next_operation(o) & 15) + 1) + 4;
		} else if (op == 0xb4) { /* the code that authenticates a return address */
			f->vsp += 4;
		} else if (op >= 0xb8 && op < 0xc0) {
			f->vsp += 8 * (int64_t)((op & 7) + 1) + 4;
		} else if (op == 0xc8 || op == 0xc9) { /* and as VPUSH did */
			f->vsp += 8 * (int64_t)((next_operation(o) & 15) + 1);
		} else if (op >= 0xd0 && op < 0xd8) {
			f->vsp += 8 * (int64_t)((op & 7) + 1);
		} else {
			return false;
		}
		if (o->bad)
			return false;
	}
	return !o->bad;
}

/* In words below the CFA; 0 if it was not saved, and out of range if no rule can say it. */
static uint64_t words_below(const struct arm_frame *f, unsigned reg)
{
	return f->has >> reg & 1 ? (uint64_t)(f->vsp - f->at[reg]) / 4 : 0;
}

static unwind_rule rule_of(const struct arm_frame *f)
{
	const unwind_rule broken = rule_make(RULE_BROKEN, 0, 0);
	uint64_t low = words_below(f, ARM_R7), high = words_below(f, ARM_R11);
	uint64_t back = words_below(f, f->has >> ARM_PC & 1 ? ARM_PC : ARM_LR);
	enum unwind_kind kind = f->base == ARM_SP   ? RULE_SP
				: f->base == ARM_R7 ? RULE_FP
						    : RULE_FP_HIGH;

	if (low > ARCH_SAVED_MAX || high > ARCH_SAVED_MAX || back > ARCH_RETURN_MAX || f->vsp & 3 ||
	    f->vsp / 4 > RULE_OFFSET_MAX || f->vsp / 4 < -RULE_OFFSET_MAX)
		return broken;
	if (!back) {
		if (kind != RULE_SP || f->vsp < 0)
			return broken;
		kind = RULE_LINK;
	}
	return rule_with_return(rule_make(kind, f->vsp / 4, low | high << 7), back);
}

bool cfi_span(const uint8_t *frames, bool (*readable)(const void *p), struct cfi_scratch *s,
	      struct cfi_span *ret_span)
{
	return false; /* nobody registers tables of this kind */
}

/* Where a thread ends when its function returns: the next instructions are exit(). */
static bool ends_thread(const struct cfi_image *image, uint64_t address)
{
	uint64_t at = address + 1;
	uint32_t first, second;
	uint8_t code[8];

	if (!(address & 1) || !read_word(image, at, &first) || !read_word(image, at + 4, &second))
		return false;
	for (unsigned i = 0; i < 4; i++) {
		code[i] = (uint8_t)(first >> 8 * i);
		code[4 + i] = (uint8_t)(second >> 8 * i);
	}
	return arch_call_number(code) == 1;
}

unwind_rule cfi_rule(const struct cfi_image *image, uint64_t address, struct cfi_scratch *s)
{
	struct operations operations;
	struct arm_frame frame = { .base = ARM_SP };
	uint64_t at, start;
	uint32_t word;

	if (!image->eh_frame_hdr || !find_entry(image, address, &at, &start) ||
	    !read_word(image, at + 4, &word))
		return rule_make(RULE_GUESS, 0, 0);
	/* The linker says so of all code without tables, too. */
	if (word == CANNOT_UNWIND)
		return rule_make(ends_thread(image, address) ? RULE_END : RULE_GUESS, 0, 0);
	if (!(address & 1) && arm_interrupted(image, start, address, &frame))
		return rule_of(&frame);
	frame = (struct arm_frame){ .base = ARM_SP };
	if (!find_operations(image, at + 4, word, &operations) || !carry_out(&operations, &frame))
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_of(&frame);
}
