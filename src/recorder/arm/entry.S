/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries that are not functions of C.
 *
 * syscall() as the program calls it: nothing is between it and libc's, whatever the call does to
 * the stack, but a look for the one that installs a filter.  libc's pointer is the first of struct
 * real. */
#include <sys/syscall.h>

	.syntax unified
	.arch armv7-a
	.arm
	.text
	.globl hook_syscall, syscall
	.hidden hook_syscall
	.type hook_syscall, %function
	.type syscall, %function
	.fnstart
hook_syscall:
syscall:
	ldr ip, =SYS_seccomp
	cmp r0, ip
	beq 1f
	ldr ip, 2f
3:	add ip, pc, ip
	ldr pc, [ip]
1:	b sandbox_syscall
	.p2align 2
2:	.word real - (3b + 8)
	.ltorg
	.size hook_syscall, . - hook_syscall
	.size syscall, . - syscall
	.fnend

/* Unwind tables refer to these so that libgcc is there to follow them.  Whoever throws has libgcc,
 * which knows them by their numbers: to us it would be one more library in every program. */
	.globl __aeabi_unwind_cpp_pr0, __aeabi_unwind_cpp_pr1
	.hidden __aeabi_unwind_cpp_pr0, __aeabi_unwind_cpp_pr1
__aeabi_unwind_cpp_pr0:
__aeabi_unwind_cpp_pr1:
	udf #0

/* Nothing is hooked in place here. */
	.globl inplace_entry, inplace_returns
	.hidden inplace_entry, inplace_returns
inplace_entry:
inplace_returns:
	udf #0

	.section .note.GNU-stack, "", %progbits
