/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the recorder needs from MIPS64: its clock, the frame of a hook, the thread pointer, a
 * counter that a signal handler cannot tear, and how relocations are written. */
#include <elf.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"
#include "wire/arch.h"
#include "wire/mips64/map_flags.h"

#define ARCH_AUDIT AUDIT_ARCH_MIPSEL64 /* what filters of system calls know it by */

/* Slots that hold the address of a function of another file: bound at the first call, and in data.
 * Those that are bound at once have no relocation: the symbols' order says which they are
 * (redirect.c). */
#define ARCH_RELOCATION_CALL R_MIPS_JUMP_SLOT
#define ARCH_RELOCATION_SLOT R_MIPS_GLOB_DAT
#define ARCH_RELOCATION_DATA R_MIPS_REL32

/* Of three types in one relocation the last byte is the first; the symbol comes before them. */
#define ARCH_RELOCATION_TYPE(info) ((unsigned)((info) >> 56))
#define ARCH_RELOCATION_SYMBOL(info) ((uint32_t)(info))

#define ARCH_MAP_FLAGS(flags) map_flags_common(flags)

/* The counter of a processor has 32 bits and is no other's: the system's clock is asked. */
static inline bool arch_ticks_usable(void)
{
	return false;
}

/* The frame register is left alone in all of the recorder (meson.build): it is the caller's. */
static inline uint64_t arch_frame_register(void)
{
	uint64_t fp;

	__asm__ volatile("move %0, $30" : "=r"(fp));
	return fp;
}

/* What a hook knows of its caller: its frame register, where it goes on, and its stack register. */
#define ARCH_FRAME                                                                                 \
	((const uint64_t[]){ arch_frame_register(), (uint64_t)__builtin_return_address(0),         \
			     (uint64_t)__builtin_dwarf_cfa() })

/* The caller's registers. */
static inline struct walk_regs arch_caller(const uint64_t *frame)
{
	return (struct walk_regs){ .pc = frame[1], .sp = frame[2], .fp = frame[0] };
}

/* glibc puts a thread's control block at the top of its stack; the register points 0x7000 bytes
 * behind it. */
static inline uint64_t arch_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer() - 0x7000;
}

/* Adds n and returns the old value: not for other threads, but for the signal handler that may come
 * between any two instructions.  A store after one fails, since returning from an exception ends
 * the claim that the load made. */
static inline uint64_t arch_reserve(uint64_t *counter, uint64_t n)
{
	uint64_t old, sum;

	__asm__ volatile(".set push\n\t"
			 ".set noreorder\n"
			 "1:\tlld %0, %2\n\t"
			 "daddu %1, %0, %3\n\t"
			 "scd %1, %2\n\t"
			 "beqz %1, 1b\n\t"
			 "nop\n\t"
			 ".set pop"
			 : "=&r"(old), "=&r"(sum), "+m"(*counter)
			 : "r"(n)
			 : "memory");
	return old;
}
