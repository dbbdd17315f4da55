/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about AArch64: DWARF's register numbers, where return addresses are
 * saved, and the kernel's signal frame.
 *
 * A call leaves the return address in a register.  A function that calls others saves it where it
 * likes, mostly beside the caller's frame register; one that a signal interrupts may not have saved
 * it.  So where a return address was read says nothing about the frame that it leads to: frames are
 * told apart by the stack register after the return (walk_frame.slot).  What was read may be signed
 * (pointer authentication); what is kept is without the signature, and what is compared is what was
 * there. */
#include <stdbool.h>
#include <stdint.h>

#define REGISTER_FP 29
#define REGISTER_SP 31
#define REGISTER_RETURN 30

/* Offsets from the stack register, when a handler has returned to its frame: a siginfo_t of 128
 * bytes and a ucontext_t, whose registers begin 184 bytes into it. */
#define SIGNAL_FRAME_REGISTERS (128 + 184)
#define SIGNAL_FRAME_FP (SIGNAL_FRAME_REGISTERS + 8 * 29)
#define SIGNAL_FRAME_LINK (SIGNAL_FRAME_REGISTERS + 8 * 30)
#define SIGNAL_FRAME_SP (SIGNAL_FRAME_REGISTERS + 8 * 31)
#define SIGNAL_FRAME_PC (SIGNAL_FRAME_REGISTERS + 8 * 32)

#define ARCH_PAGE 4096ull /* no larger than the system's */

/* Where a rule says that the return address was saved: words below the CFA, or the word above the
 * one with the caller's frame register, as nearly all functions have it. */
#define ARCH_RETURN_MIN 0
#define ARCH_RETURN_MAX 254
#define ARCH_RETURN_BESIDE_FP (ARCH_RETURN_MAX + 1)

/* A function that has saved nothing is one to return from with the link register. */
#define ARCH_LINK_REGISTER true

static inline uint64_t arch_return_slot(uint64_t cfa, uint64_t rule)
{
	uint64_t words = rule >> 40 & 0xff, saved = rule >> 26 & 0x3fff;

	return cfa - 8 * (words == ARCH_RETURN_BESIDE_FP ? saved - 1 : words);
}

/* What tells the frame apart whose stack register is sp after the return to it. */
static inline uint64_t arch_entry_slot(uint64_t sp)
{
	return sp;
}

/* An address without its signature.  Processors that know none take the instruction for a nop. */
static inline uint64_t arch_address(uint64_t word)
{
#ifdef __aarch64__
	register uint64_t link __asm__("x30") = word;

	__asm__("hint #7" : "+r"(link)); /* xpaclri */
	return link;
#else
	return word; /* tests of rules, which run anywhere */
#endif
}

/* Where a return address was read. */
struct arch_origin {
	uint64_t at;
};

static inline void arch_origin_set(struct arch_origin *o, uint64_t at)
{
	o->at = at;
}

static inline uint64_t arch_origin_at(const struct arch_origin *o,
				      __attribute__((unused)) uint64_t slot)
{
	return o->at;
}

/* The word there; the innermost frame's was in a register, and nothing is compared with it. */
static inline uint64_t arch_origin_word(uint64_t at, uint64_t pc)
{
	return at ? *(const uint64_t *)at : pc;
}

/* Is this where handlers return to, which the kernel's own file need not describe? */
#define ARCH_SIGNAL_RETURN_SIZE 8
static inline bool arch_returns_from_signal(const uint8_t *p)
{
	const uint32_t *code = (const uint32_t *)p;

	return code[0] == 0xd2801168 && code[1] == 0xd4000001; /* mov x8, #139; svc #0 */
}

/* Go's two functions that switch stacks are not known here. */
#define ARCH_SWITCH_SIZE 4
enum arch_switch { SWITCH_NOT, SWITCH_TO_C, SWITCH_TO_GO };
#define SWITCH_GOROUTINE 0
#define SWITCH_DEPTH 0
#define SWITCH_STACK_END 0
static inline enum arch_switch arch_switches_stack(__attribute__((unused)) const uint8_t *p)
{
	return SWITCH_NOT;
}
