/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the recorder needs from AArch64: its clock, the frame of a hook, the thread pointer, and a
 * counter that a signal handler cannot tear. */
#include <elf.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"
#include "wire/arch.h"

#define ARCH_AUDIT AUDIT_ARCH_AARCH64 /* what filters of system calls know it by */

/* Slots that hold the address of a function of another file: bound at the first call, at once, and
 * in data. */
#define ARCH_RELOCATION_CALL R_AARCH64_JUMP_SLOT
#define ARCH_RELOCATION_SLOT R_AARCH64_GLOB_DAT
#define ARCH_RELOCATION_DATA R_AARCH64_ABS64

/* One rate on all processors is the architecture's promise, and programs may read it. */
static inline bool arch_ticks_usable(void)
{
	return true;
}

/* What a hook knows of its caller, from inside a function that keeps a frame pointer.  The frame
 * record is anywhere in the hook's frame, so the stack register goes with it; [1] is the return
 * address. */
#define ARCH_FRAME                                                                                 \
	((const uint64_t[]){ ((const uint64_t *)__builtin_frame_address(0))[0],                    \
			     (uint64_t)__builtin_return_address(0),                                \
			     (uint64_t)__builtin_dwarf_cfa() })

/* The caller's registers. */
static inline struct walk_regs arch_caller(const uint64_t *frame)
{
	return (struct walk_regs){ .pc = frame[1], .sp = frame[2], .fp = frame[0] };
}

/* glibc puts a thread's control block at the top of its stack. */
static inline uint64_t arch_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

/* Adds n and returns the old value: not for other threads, but for the signal handler that may come
 * between any two instructions.  A store after one fails, since returning from an exception ends
 * the claim that the load made. */
static inline uint64_t arch_reserve(uint64_t *counter, uint64_t n)
{
	uint64_t old, sum;
	uint32_t failed;

	__asm__ volatile("1:\tldxr %0, %3\n\t"
			 "add %1, %0, %4\n\t"
			 "stxr %w2, %1, %3\n\t"
			 "cbnz %w2, 1b"
			 : "=&r"(old), "=&r"(sum), "=&r"(failed), "+Q"(*counter)
			 : "r"(n)
			 : "memory");
	return old;
}
