/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about MIPS64 (n64): DWARF's register numbers, where return addresses
 * are saved, and the kernel's signal frame.
 *
 * A call leaves the return address in a register, and a function that calls others saves it in its
 * frame, mostly at the end, above the caller's frame register.  So frames are told apart by the
 * stack register after the return (walk_frame.slot), as on AArch64.
 *
 * Compilers write unwind tables for C++ only, and nobody keeps a chain of frame pointers: what
 * nothing describes is found by reading the code itself (scan.c). */
#include <stdbool.h>
#include <stdint.h>

#define REGISTER_FP 30
#define REGISTER_SP 29
#define REGISTER_RETURN 31

/* Offsets from the stack register, when a handler has returned to its frame: 24 bytes that are not
 * used, a siginfo_t of 128 and a ucontext_t, whose registers begin 40 bytes into it. */
#define SIGNAL_FRAME_REGISTERS (24 + 128 + 40)
#define SIGNAL_FRAME_SP (SIGNAL_FRAME_REGISTERS + 8 * 29)
#define SIGNAL_FRAME_FP (SIGNAL_FRAME_REGISTERS + 8 * 30)
#define SIGNAL_FRAME_LINK (SIGNAL_FRAME_REGISTERS + 8 * 31)
#define SIGNAL_FRAME_PC (SIGNAL_FRAME_REGISTERS + 576)

#define ARCH_PAGE 4096ull /* no larger than the system's */

/* Where a rule says that the return address was saved: words below the CFA, or the word above the
 * one with the caller's frame register, as nearly all functions have it. */
#define ARCH_RETURN_MIN 0
#define ARCH_RETURN_MAX 254
#define ARCH_RETURN_BESIDE_FP (ARCH_RETURN_MAX + 1)

/* A function that has saved nothing is one to return from with the link register. */
#define ARCH_LINK_REGISTER true

/* Code is read where no table describes it, and before any table where a signal has interrupted it:
 * tables do not say what the instruction behind a jump has done. */
#define ARCH_READS_CODE

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

/* The address that a word on the stack means. */
static inline uint64_t arch_address(uint64_t word)
{
	return word;
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

	return code[0] == 0x2402145b && code[1] == 0x0000000c; /* li v0, 5211; syscall */
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
