/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What both sides must know about MIPS64 (n64, little-endian): names, pages, what stands in for a
 * counter that stamps events, and that functions get no jumps. */
#include <elf.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#define ARCH_NAME "mips64el"
#define ARCH_TRIPLET "mips64el-linux-gnuabi64"
#define ARCH_ELF_MACHINE EM_MIPS

#define ARCH_PAGE_MAX 65536u	     /* kernels have 4, 16 or 64 KiB */
#define ARCH_JUMP 4		     /* bytes of a jump, which nothing writes */
#define ARCH_JUMP_REACH (1ull << 26) /* half of how far one leads, either way */

/* Why functions are not hooked where they are. */
#define ARCH_NO_HOOKS_IN_PLACE "functions are not hooked where they are on this processor"

/* The loader leaves what a dynamic section says as it is in the file, which is read-only. */
#define ARCH_DYNAMIC_AS_IN_FILE
/* Slots of the symbols that are bound at once have no relocations. */
#define ARCH_GOT_BY_SYMBOLS

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

/* The processor's counter has 32 bits, is another one on each processor, and may be emulated by the
 * kernel.  So recordings have the system's clock (arch_ticks_usable()), and this is for who asks
 * before there is one: nanoseconds of CLOCK_MONOTONIC, by the system call. */
static inline uint64_t arch_ticks(void)
{
	struct timespec t = { 0, 0 };
	register long v0 __asm__("$2") = SYS_clock_gettime;
	register long a0 __asm__("$4") = CLOCK_MONOTONIC;
	register struct timespec *a1 __asm__("$5") = &t;
	register long failed __asm__("$7");

	__asm__ volatile("syscall"
			 : "+r"(v0), "=r"(failed)
			 : "r"(a0), "r"(a1)
			 : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24",
			   "$25", "hi", "lo", "memory");
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t arch_ticks_before_loads(void)
{
	return arch_ticks();
}

/* In a loop that waits for another thread. */
static inline void arch_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}
