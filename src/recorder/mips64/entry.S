/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries that are not functions of C. */
#include <sys/syscall.h>

	.text
	.set noreorder

/* Where hooks in place would lead; there are none (patch.h). */
	.globl inplace_entry, inplace_returns
	.hidden inplace_entry
	.hidden inplace_returns
	.type inplace_entry, @function
inplace_entry:
inplace_returns:
	break
	nop
	.size inplace_entry, . - inplace_entry

/* syscall() as the program calls it: nothing is between it and libc's, whatever the call does to
 * the stack, but a look for the one that installs a filter.  libc's pointer is the first of struct
 * real. */
	.globl hook_syscall, syscall
	.hidden hook_syscall
	.type hook_syscall, @function
	.type syscall, @function
hook_syscall:
syscall:
	.cfi_startproc
	lui $15, %hi(%neg(%gp_rel(hook_syscall)))
	daddu $15, $15, $25
	daddiu $15, $15, %lo(%neg(%gp_rel(hook_syscall)))
	li $24, SYS_seccomp
	beq $4, $24, 1f
	nop
	ld $25, %got_disp(real)($15)
	ld $25, 0($25)
	jr $25
	nop
1:	ld $25, %got_disp(sandbox_syscall)($15)
	jr $25
	nop
	.cfi_endproc
	.size hook_syscall, . - hook_syscall
	.size syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
