/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the recorder needs from ARM with 32 bits: whether its clock needs no system call, the frame
 * of a hook, the thread pointer, and a counter that a signal handler cannot tear.
 *
 * The recorder is compiled with r7 and r11 fixed (meson.build): nothing of it writes them, so
 * anywhere in a hook they are what they were in its caller. */
#include <elf.h>
#include <link.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind/walk.h"
#include "wire/arch.h"

#define ARCH_AUDIT AUDIT_ARCH_ARM /* what filters of system calls know it by */

/* Slots that hold the address of a function of another file: bound at the first call, at once, and
 * in data. */
#define ARCH_RELOCATION_CALL R_ARM_JUMP_SLOT
#define ARCH_RELOCATION_SLOT R_ARM_GLOB_DAT
#define ARCH_RELOCATION_DATA R_ARM_ABS32

/* Does the kernel's page know the time?  The kernel takes the function's name away where the
 * hardware has no counter that programs may read. */
static inline bool arch_ticks_usable(void)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf32_Ehdr *header = (const void *)base;
	const Elf32_Phdr *p;
	const Elf32_Sym *symbols = NULL;
	const uint32_t *hash = NULL;
	const char *names = NULL;

	if (!base)
		return false;
	p = (const void *)(base + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type != PT_DYNAMIC)
			continue;
		for (const Elf32_Dyn *d = (const void *)(base + p[i].p_offset); d->d_tag; d++) {
			const void *at = base + d->d_un.d_ptr;

			if (d->d_tag == DT_SYMTAB)
				symbols = at;
			else if (d->d_tag == DT_STRTAB)
				names = at;
			else if (d->d_tag == DT_HASH)
				hash = at;
		}
	}
	for (uint32_t i = 0; symbols && names && hash && i < hash[1]; i++)
		if (!strcmp(names + symbols[i].st_name, "__vdso_clock_gettime64"))
			return true;
	return false;
}

/* What a hook knows of its caller; [1] is the return address.  The first word is both frame
 * registers (unwind/arm/arch.h). */
static inline __attribute__((always_inline)) uint64_t arch_frame_registers(void)
{
	uint32_t r7, r11;

	__asm__ volatile("mov %0, r7\n\tmov %1, r11" : "=r"(r7), "=r"(r11));
	return (uint64_t)r11 << 32 | r7;
}

#define ARCH_FRAME                                                                                 \
	((const uint64_t[]){ arch_frame_registers(),                                               \
			     arch_address((uintptr_t)__builtin_return_address(0)),                 \
			     (uintptr_t)__builtin_dwarf_cfa() })

/* The caller's registers. */
static inline struct walk_regs arch_caller(const uint64_t *frame)
{
	return (struct walk_regs){ .pc = frame[1], .sp = frame[2], .fp = frame[0] };
}

/* glibc puts a thread's control block at the top of its stack. */
static inline uint64_t arch_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* Adds n and returns the old value: not for other threads, but for the signal handler that may come
 * between any two instructions.  A store after one fails, since the kernel ends the claim that the
 * load made. */
static inline uint64_t arch_reserve(uint64_t *counter, uint64_t n)
{
	uint64_t old, sum;
	uint32_t failed;

	__asm__ volatile("1:\tldrexd %0, %H0, %3\n\t"
			 "adds %Q1, %Q0, %Q4\n\t"
			 "adc %R1, %R0, %R4\n\t"
			 "strexd %2, %1, %H1, %3\n\t"
			 "cmp %2, #0\n\t"
			 "bne 1b"
			 : "=&r"(old), "=&r"(sum), "=&r"(failed), "+Q"(*counter)
			 : "r"(n)
			 : "memory", "cc");
	return old;
}
