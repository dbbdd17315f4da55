/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries that are not functions of C.
 *
 * Where the hooked entry of a function inside the executable leads, through its site's stub, which
 * has pushed the caller's frame register and the number of the site.
 *
 * The callers are in the same file as the function, and the compiler may know which registers it
 * leaves alone: all are kept.  What is pushed is struct inplace_call (patch.h). */
#include <cet.h>
#include <sys/syscall.h>

	.text
	.globl inplace_entry
	.hidden inplace_entry
	.type inplace_entry, @function
inplace_entry:
	.cfi_startproc
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -16
	_CET_ENDBR
	lea 8(%rsp), %rbp
	.cfi_def_cfa %rbp, 16
	push %r11
	push %r10
	push %rax
	push %r9
	push %r8
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	mov %rsp, %rdi
	call inplace_dispatch
	.globl inplace_returns
	.hidden inplace_returns
inplace_returns:
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %r8
	pop %r9
	lea 8(%rsp), %rsp
	pop %r10
	pop %r11
	lea 8(%rsp), %rsp
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
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
	_CET_ENDBR
	cmp $SYS_seccomp, %rdi
	je sandbox_syscall
	jmp *real(%rip)
	.cfi_endproc
	.size hook_syscall, . - hook_syscall
	.size syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
