/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What both sides must know about x86-64: names, pages, the counter that stamps events, and how far
 * jumps reach. */
#include <elf.h>
#include <stdint.h>

#define ARCH_NAME "x86_64"
#define ARCH_TRIPLET "x86_64-linux-gnu"
#define ARCH_ELF_MACHINE EM_X86_64

#define ARCH_PAGE_MAX 4096u	     /* no kernel has larger ones */
#define ARCH_JUMP 5		     /* bytes of a jump to a function's hook */
#define ARCH_JUMP_REACH (1ull << 30) /* half of how far it leads, either way */

static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* The same; loads that stand after it in the program happen after it. */
static inline uint64_t arch_ticks_before_loads(void)
{
	uint64_t ticks = __builtin_ia32_rdtsc();

	__asm__ volatile("lfence" ::: "memory");
	return ticks;
}

/* In a loop that waits for another thread. */
static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}
