/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A signal handler set without libc, x86-64: the kernel wants to be told where it returns to.
 *
 * The two instructions are what unwinders and debuggers know a signal frame by. */
#include <stdint.h>

#define SIGNAL_RESTORER 0x04000000ul /* SA_RESTORER */

/* What the kernel calls struct sigaction. */
struct signal_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static __attribute__((naked, noinline)) void signal_return(void)
{
	__asm__("movq $15, %rax\n\tsyscall"); /* rt_sigreturn */
}
