/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What both sides must know about ARM with 32 bits (armhf): names, pages and the clock.  No counter
 * can be read everywhere, so events are stamped with CLOCK_MONOTONIC, which the kernel's page gives
 * without a system call. */
#include <elf.h>
#include <stdint.h>
#include <time.h>

#define ARCH_NAME "armhf"
#define ARCH_TRIPLET "arm-linux-gnueabihf"
#define ARCH_ELF_MACHINE EM_ARM

#define ARCH_PAGE_MAX 4096u /* no kernel has larger ones */
/* See collector/arm/relocate.c. */
#define ARCH_NO_HOOKS_IN_PLACE "functions are not hooked where they are on this processor"
#define ARCH_JUMP 4
#define ARCH_JUMP_REACH (1ull << 23)

static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The same; loads that stand after it in the program happen after it. */
static inline uint64_t arch_ticks_before_loads(void)
{
	uint64_t ticks = arch_ticks();

	__asm__ volatile("dmb ish" ::: "memory");
	return ticks;
}

/* In a loop that waits for another thread. */
static inline void arch_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}
