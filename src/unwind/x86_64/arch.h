/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about x86-64: DWARF's register numbers, where calls leave return
 * addresses, and the kernel's signal frame.  The stack register points at the ucontext when a
 * handler has returned to its frame. */
#include <stdint.h>

#define REGISTER_FP 6 /* rbp */
#define REGISTER_SP 7 /* rsp */

#define SIGNAL_FRAME_FP 120 /* offsets into ucontext_t: rbp, rsp, rip */
#define SIGNAL_FRAME_SP 160
#define SIGNAL_FRAME_PC 168

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

/* Where that of the innermost frame was; sp is the stack register after the return. */
static inline uint64_t arch_entry_slot(uint64_t sp)
{
	return sp - 8;
}
