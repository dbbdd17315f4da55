/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* clone() that calls a function on a stack of its own, ARM.  The function must not return. */
#include <sys/syscall.h>

/* r7 has the number, and is nobody's to write (arch.h): it is put back at once.  The function has
 * its own. */
static inline long clone_call(unsigned long flags, void *stack_top, void (*function)(void *),
			      void *argument)
{
	register long r0 __asm__("r0") = (long)flags;
	register void *r1 __asm__("r1") = stack_top;
	register long parent_tid __asm__("r2") = 0;
	register long tls __asm__("r3") = 0;
	register long child_tid __asm__("r4") = 0;
	register void (*entry)(void *) __asm__("r5") = function;
	register void *context __asm__("r6") = argument;

	__asm__ volatile("mov r12, r7\n\t"
			 "mov r7, %[number]\n\t"
			 "svc #0\n\t"
			 "mov r7, r12\n\t"
			 "cmp r0, #0\n\t"
			 "bne 1f\n\t"
			 "mov r7, #0\n\t"
			 "mov r11, #0\n\t"
			 "mov lr, #0\n\t"
			 "mov r0, r6\n\t"
			 "blx r5\n\t"
			 "udf #0\n"
			 "1:"
			 : "+r"(r0)
			 : [number] "i"(SYS_clone), "r"(r1), "r"(parent_tid), "r"(tls),
			   "r"(child_tid), "r"(entry), "r"(context)
			 : "r12", "lr", "cc", "memory");
	return r0;
}
