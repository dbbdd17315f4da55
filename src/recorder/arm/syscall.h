/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One system call, ARM.  What has other names or other arguments than where words have 64 bits is
 * put right here, so that the recorder's calls look the same everywhere: the names that are used
 * are defined as the call that is made. */
#include <stdint.h>
#include <sys/syscall.h>

/* r7 is nobody's to write (arch.h). */
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = e;
	register long r5 __asm__("r5") = f;
	register long r6 __asm__("r6") = number;

	__asm__ volatile("mov r12, r7\n\t"
			 "mov r7, r6\n\t"
			 "svc #0\n\t"
			 "mov r7, r12"
			 : "+r"(r0)
			 : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6)
			 : "r12", "memory");
	return r0;
}

/* An offset of 64 bits is two words, the first of which has an even number. */
#define SYS_WIDE(offset) 0, (uint32_t)(offset), (uint32_t)((offset) >> 32)

#define SYS_mmap SYS_mmap2 /* of offset 0 */
#undef SYS_fstat
#define SYS_fstat SYS_fstat64
#define SYS_newfstatat SYS_fstatat64
#define SYS_STAT struct stat64
#undef SYS_clock_gettime
#define SYS_clock_gettime SYS_clock_gettime64
#undef SYS_futex
#define SYS_futex SYS_futex_time64
