/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* clone() that calls a function on a stack of its own, AArch64.  The function must not return. */
#include <sys/syscall.h>

static inline long clone_call(unsigned long flags, void *stack_top, void (*function)(void *),
			      void *argument)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register void *x1 __asm__("x1") = stack_top;
	register long parent_tid __asm__("x2") = 0;
	register long tls __asm__("x3") = 0;
	register long child_tid __asm__("x4") = 0;
	register void (*entry)(void *) __asm__("x9") = function;
	register void *context __asm__("x10") = argument;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(parent_tid), "r"(tls), "r"(child_tid), "r"(entry),
			   "r"(context)
			 : "memory");
	return x0;
}
