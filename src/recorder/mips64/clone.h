/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* clone() that calls a function on a stack of its own, MIPS64.  The function must not return. */
#include <sys/syscall.h>

static inline long clone_call(unsigned long flags, void *stack_top, void (*function)(void *),
			      void *argument)
{
	register long v0 __asm__("$2") = SYS_clone;
	register long a0 __asm__("$4") = (long)flags;
	register void *a1 __asm__("$5") = stack_top;
	register long parent_tid __asm__("$6") = 0;
	register long a3 __asm__("$7") = 0; /* tls; then: has it failed? */
	register long child_tid __asm__("$8") = 0;
	register void (*entry)(void *) __asm__("$16") = function;
	register void *context __asm__("$17") = argument;

	__asm__ volatile(".set push\n\t"
			 ".set noreorder\n\t"
			 "syscall\n\t"
			 "bnez $7, 1f\n\t"
			 "nop\n\t"
			 "bnez $2, 1f\n\t"
			 "nop\n\t"
			 "move $30, $0\n\t"
			 "move $31, $0\n\t"
			 "move $25, $16\n\t"
			 "jalr $25\n\t"
			 "move $4, $17\n\t"
			 "break\n"
			 "1:\n\t"
			 ".set pop"
			 : "+r"(v0), "+r"(a3)
			 : "r"(a0), "r"(a1), "r"(parent_tid), "r"(child_tid), "r"(entry),
			   "r"(context)
			 : "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25",
			   "$31", "hi", "lo", "memory");
	return a3 ? -v0 : v0;
}
