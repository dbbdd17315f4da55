/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thumb code that a signal interrupted, in a function's prologue or on its way out.  See
 * interrupted.h.
 *
 * From the function's start up to the address, each instruction that moves the stack register is
 * followed, as long as nothing is between that cannot be: a branch behind the first push, or a
 * frame whose size is computed.  From the address on it is the other way round: what gives the
 * frame back, up to the return.  Pure functions of the image's bytes, as exidx.c's. */
#include "unwind/arm/interrupted.h"

#define STEPS_MAX 48u /* instructions of a prologue, with what the compiler puts between */

/* A Thumb instruction. */
struct step {
	uint32_t first, second; /* halves; the second is 0 where there is none */
	unsigned size;
};

static bool read_step(const struct cfi_image *image, uint64_t at, struct step *s)
{
	const uint8_t *p;

	if (at < (uintptr_t)image->low || at > (uintptr_t)image->high ||
	    (uintptr_t)image->high - at < 4 || at & 1)
		return false;
	p = image->low + (at - (uintptr_t)image->low);
	s->first = (uint32_t)p[0] | (uint32_t)p[1] << 8;
	s->size = s->first >> 11 > 0x1c ? 4 : 2;
	s->second = s->size == 4 ? (uint32_t)p[2] | (uint32_t)p[3] << 8 : 0;
	return true;
}

/* The registers that the instruction pushes; 0: it does something else. */
static uint32_t pushed(const struct step *s)
{
	if (s->first >> 9 == 0x5a) /* push {r0-r7, lr} */
		return (s->first & 0xff) | (s->first & 0x100 ? 1u << ARM_LR : 0);
	if (s->first == 0xe92d) /* push.w */
		return s->second;
	if (s->first == 0xf84d && (s->second & 0xfff) == 0xd04) /* str reg, [sp, #-4]! */
		return 1u << (s->second >> 12);
	return 0;
}

static uint32_t popped(const struct step *s)
{
	if (s->first >> 9 == 0x5e)
		return (s->first & 0xff) | (s->first & 0x100 ? 1u << ARM_PC : 0);
	if (s->first == 0xe8bd)
		return s->second;
	if (s->first == 0xf85d && (s->second & 0xfff) == 0xb04) /* ldr reg, [sp], #4 */
		return 1u << (s->second >> 12);
	return 0;
}

/* sub sp, #n; or add where `gives` is set; vpush and vpop.  0: something else. */
static uint32_t moved(const struct step *s, bool gives)
{
	if (s->first >> 7 == (gives ? 0x160 : 0x161))
		return (s->first & 0x7f) * 4;
	/* With 12 plain bits, or with eight where no more are needed. */
	if ((s->first == (gives ? 0xf20d : 0xf2ad) ||
	     (s->first == (gives ? 0xf10d : 0xf1ad) && !(s->second & 0x7000))) &&
	    (s->second & 0x0f00) == 0x0d00)
		return (s->second & 0xff) | (s->second >> 12 & 7) << 8;
	if ((s->first & 0xffbf) == (gives ? 0xecbd : 0xed2d) && (s->second & 0xf00) == 0xb00)
		return (s->second & 0xff) * 4;
	return 0;
}

/* Does it write the stack register in a way that is not one of the above? */
static bool computes_stack(const struct step *s)
{
	if (s->size == 2) /* mov sp, reg; add sp, reg */
		return (s->first & 0xff87) == 0x4685 || (s->first & 0xff87) == 0x4485;
	/* Data processing with a register or a number, into sp. */
	return (s->first >> 9 == 0x75 || s->first >> 11 == 0x1e) && !(s->second & 0x8000) &&
	       (s->second & 0xf00) == 0xd00;
}

static bool branches(const struct step *s, bool *ret_may_not)
{
	*ret_may_not = false;
	if (s->size == 2) {
		if (s->first >> 12 == 0xd && (s->first >> 8 & 15) < 14) /* b.cond */
			return *ret_may_not = true;
		if ((s->first & 0xf500) == 0xb100) /* cbz, cbnz */
			return *ret_may_not = true;
		return s->first >> 11 == 0x1c || s->first >> 8 == 0x47 || s->first >> 8 == 0xbd;
	}
	return (s->first >> 11 == 0x1e && s->second & 0x8000) || s->first == 0xe8df;
}

/* A32 code has a condition in the upper bits of each word, nearly always "always". */
static bool looks_like_a32(const struct cfi_image *image, uint64_t start)
{
	struct step one, two;

	return !(start & 3) && read_step(image, start + 2, &one) &&
	       read_step(image, start + 6, &two) && one.first >> 12 == 14 && two.first >> 12 == 14;
}

static bool from_start(const struct cfi_image *image, uint64_t start, uint64_t address,
		       struct arm_frame *f)
{
	int64_t depth = 0;
	uint32_t more;
	struct step s;
	bool may_not;

	*f = (struct arm_frame){ .base = ARM_SP };
	for (unsigned i = 0; start < address; i++, start += s.size) {
		if (i == STEPS_MAX || !read_step(image, start, &s) || computes_stack(&s) ||
		    (branches(&s, &may_not) && (!may_not || depth)))
			return false;
		for (int reg = 15; (more = pushed(&s)) && reg >= 0; reg--)
			if (more >> reg & 1) {
				depth += 4;
				f->at[reg] = -depth;
				f->has |= 1u << reg;
			}
		depth += more ? 0 : moved(&s, false);
	}
	/* From the stack register on, not from the CFA. */
	for (unsigned reg = 0; reg < 16; reg++)
		f->at[reg] += depth;
	f->vsp = depth;
	return start == address;
}

static bool to_return(const struct cfi_image *image, uint64_t address, struct arm_frame *f)
{
	uint32_t more, bytes;
	struct step s;

	*f = (struct arm_frame){ .base = ARM_SP };
	for (unsigned i = 0; i < 8; i++, address += s.size) {
		if (!read_step(image, address, &s))
			return false;
		if (s.first == 0x4770) /* bx lr */
			return true;
		/* b.w to another function, with this one's frame gone */
		if (i && s.first >> 11 == 0x1e && (s.second & 0xd000) == 0x9000)
			return true;
		more = popped(&s);
		bytes = more ? 0 : moved(&s, true);
		if (!more && !bytes)
			return false;
		for (unsigned reg = 0; reg < 16; reg++)
			if (more >> reg & 1) {
				f->at[reg] = f->vsp;
				f->has |= 1u << reg;
				f->vsp += 4;
			}
		f->vsp += bytes;
		if (f->has >> ARM_PC & 1)
			return true;
	}
	return false;
}

bool arm_interrupted(const struct cfi_image *image, uint64_t start, uint64_t address,
		     struct arm_frame *ret_frame)
{
	return !looks_like_a32(image, start) && (to_return(image, address, ret_frame) ||
						 from_start(image, start, address, ret_frame));
}
