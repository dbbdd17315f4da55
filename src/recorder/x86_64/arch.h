/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the recorder needs from x86-64: whether its clock can be used, the frame of a hook, the
 * thread pointer, and a counter that a signal handler cannot tear. */
#include <cpuid.h>
#include <elf.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"
#include "wire/arch.h"

#define ARCH_AUDIT AUDIT_ARCH_X86_64 /* what filters of system calls know it by */

/* Slots that hold the address of a function of another file: bound at the first call, at once, and
 * in data. */
#define ARCH_RELOCATION_CALL R_X86_64_JUMP_SLOT
#define ARCH_RELOCATION_SLOT R_X86_64_GLOB_DAT
#define ARCH_RELOCATION_DATA R_X86_64_64

/* Does the counter run at one rate on all processors, whatever they sleep or throttle? */
static inline bool arch_ticks_usable(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/* What a hook knows of its caller, from inside a function that keeps a frame pointer; [1] is the
 * return address. */
#define ARCH_FRAME ((const uint64_t *)__builtin_frame_address(0))

/* The caller's registers. */
static inline struct walk_regs arch_caller(const uint64_t *frame)
{
	return (struct walk_regs){ .pc = frame[1], .sp = (uint64_t)(frame + 2), .fp = frame[0] };
}

/* glibc puts a thread's control block at the top of its stack. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}

/* Adds n and returns the old value in one instruction: not for other threads, but for the signal
 * handler that may come between any two. */
static inline uint64_t arch_reserve(uint64_t *counter, uint64_t n)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*counter) : : "memory");
	return n;
}
