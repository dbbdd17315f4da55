/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* clone() that calls a function on a stack of its own, x86-64.  The function must not return. */
#include <sys/syscall.h>

static inline long clone_call(unsigned long flags, void *stack_top, void (*function)(void *),
			      void *argument)
{
	long result;
	register long parent_tid __asm__("rdx") = 0;
	register long child_tid __asm__("r10") = 0;
	register long tls __asm__("r8") = 0;
	register void (*entry)(void *) __asm__("r12") = function;
	register void *context __asm__("r13") = argument;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_top), "r"(parent_tid),
			   "r"(child_tid), "r"(tls), "r"(entry), "r"(context)
			 : "rcx", "r11", "memory");
	return result;
}
