/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about x86-64: DWARF's register numbers, where calls leave return
 * addresses, and the kernel's signal frame.  The stack register points at the ucontext when a
 * handler has returned to its frame. */
#include <stdbool.h>
#include <stdint.h>

#define REGISTER_FP 6 /* rbp */
#define REGISTER_SP 7 /* rsp */
#define REGISTER_RETURN 16

#define SIGNAL_FRAME_FP 120 /* offsets into ucontext_t: rbp, rsp, rip */
#define SIGNAL_FRAME_SP 160
#define SIGNAL_FRAME_PC 168
#define SIGNAL_FRAME_LINK 168 /* no such register */

#define ARCH_PAGE 4096ull /* no larger than the system's */

/* Words from the CFA down to the return address that a rule may have: here the call itself puts it
 * there, so that the walker need not look into the rule for it. */
#define ARCH_RETURN_MIN 1
#define ARCH_RETURN_MAX 1

/* Where the return address of a frame is whose CFA is known. */
static inline uint64_t arch_return_slot(uint64_t cfa, __attribute__((unused)) uint64_t rule)
{
	return cfa - 8;
}

/* Where that of the innermost frame was; sp is the stack register after the return.  It tells
 * frames apart, too. */
static inline uint64_t arch_entry_slot(uint64_t sp)
{
	return sp - 8;
}

/* A call puts the return address into memory: nobody finds it in a register. */
#define ARCH_LINK_REGISTER false

/* The address that a word on the stack means. */
static inline uint64_t arch_address(uint64_t word)
{
	return word;
}

/* Where a return address was read, and what was there: the frame's slot and pc say so. */
struct arch_origin {
};

static inline void arch_origin_set(__attribute__((unused)) struct arch_origin *o,
				   __attribute__((unused)) uint64_t at)
{
}

static inline uint64_t arch_origin_at(__attribute__((unused)) const struct arch_origin *o,
				      uint64_t slot)
{
	return slot;
}

static inline uint64_t arch_origin_word(__attribute__((unused)) uint64_t at, uint64_t pc)
{
	return pc;
}

/* Where handlers return to is described by libc. */
#define ARCH_SIGNAL_RETURN_SIZE 0
static inline bool arch_returns_from_signal(__attribute__((unused)) const uint8_t *p)
{
	return false;
}

/* Go runs C functions on a stack of the thread's, and Go functions that C calls on a goroutine's;
 * its frame register leads from one to the other.  Is this where one of the two functions goes on
 * that do it?  They have no unwind information; what they do next, putting the other stack in
 * place, tells them from all others (Go 1.17 and later). */
#define ARCH_SWITCH_SIZE 14
enum arch_switch { SWITCH_NOT, SWITCH_TO_C, SWITCH_TO_GO };
/* In the frame that calls C: the goroutine, and how deep its stack was; in a goroutine, where its
 * stack ends. */
#define SWITCH_GOROUTINE 48
#define SWITCH_DEPTH 40
#define SWITCH_STACK_END 8
static inline enum arch_switch arch_switches_stack(const uint8_t *p)
{
	/* runtime.asmcgocall: mov 48(%rsp), %rdi; mov 8(%rdi), %rsi; sub 40(%rsp), %rsi */
	static const uint8_t to_c[ARCH_SWITCH_SIZE] = { 0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b,
							0x77, 0x08, 0x48, 0x2b, 0x74, 0x24, 0x28 };
	/* runtime.cgocallback: lea 40(%rsp), %rax; sub %rsp, %rax; mov %fs:…, %rsi */
	static const uint8_t to_go[ARCH_SWITCH_SIZE] = { 0x48, 0x8d, 0x44, 0x24, 0x28, 0x48, 0x29,
							 0xe0, 0x64, 0x48, 0x8b, 0x34, 0x25, 0xf8 };
	bool is_c = true, is_go = true;

	for (unsigned i = 0; i < ARCH_SWITCH_SIZE; i++) {
		is_c &= p[i] == to_c[i];
		is_go &= p[i] == to_go[i];
	}
	return is_c ? SWITCH_TO_C : is_go ? SWITCH_TO_GO : SWITCH_NOT;
}
