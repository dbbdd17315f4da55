/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What both sides must know about AArch64: names, pages, the counter that stamps events, and how
 * far jumps reach. */
#include <elf.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ARCH_NAME "aarch64"
#define ARCH_TRIPLET "aarch64-linux-gnu"
#define ARCH_ELF_MACHINE EM_AARCH64

#define ARCH_PAGE_MAX 65536u	     /* kernels have 4, 16 or 64 KiB */
#define ARCH_JUMP 4		     /* bytes of a jump to a function's hook */
#define ARCH_JUMP_REACH (1ull << 26) /* half of how far it leads, either way */

static inline uint64_t arch_page(void)
{
	static _Atomic uint64_t known;
	uint64_t size = atomic_load_explicit(&known, memory_order_relaxed);

	if (__builtin_expect(!size, 0)) {
		size = getauxval(AT_PAGESZ);
		atomic_store_explicit(&known, size, memory_order_relaxed);
	}
	return size;
}

/* The system's counter is slow (24 MHz to 1 GHz): events in a row may have the same stamp, and are
 * in the order of their ring. */
static inline uint64_t arch_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}

/* The same; loads that stand after it in the program happen after it. */
static inline uint64_t arch_ticks_before_loads(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
	return ticks;
}

/* In a loop that waits for another thread. */
static inline void arch_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}
