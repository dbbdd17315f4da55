/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries that are not functions of C.
 *
 * Where the hooked entry of a function inside the executable leads, through its site's stub, which
 * has put the number of the site into x17.
 *
 * The callers are in the same file as the function, and the compiler may know which registers it
 * leaves alone: all are kept but x16 and x17, which belong to nobody between a call and the first
 * instruction.  What is stored is struct inplace_call (patch.h); its last three words are a frame
 * record and the caller's stack register. */
#include <sys/syscall.h>

	.text
	.globl inplace_entry
	.hidden inplace_entry
	.type inplace_entry, @function
inplace_entry:
	.cfi_startproc
	sub sp, sp, #176
	.cfi_def_cfa_offset 176
	stp x29, x30, [sp, #152]
	.cfi_offset x29, -24
	.cfi_offset x30, -16
	add x29, sp, #152
	.cfi_def_cfa x29, 24
	stp x0, x1, [sp, #0]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x0, x8, [sp, #64]
	stp x9, x10, [sp, #80]
	stp x11, x12, [sp, #96]
	stp x13, x14, [sp, #112]
	stp x15, x18, [sp, #128]
	str x17, [sp, #144]
	add x16, sp, #176
	str x16, [sp, #168]
	mov x0, sp
	bl inplace_dispatch
	.globl inplace_returns
	.hidden inplace_returns
inplace_returns:
	ldr x1, [sp, #8]
	ldp x2, x3, [sp, #16]
	ldp x4, x5, [sp, #32]
	ldp x6, x7, [sp, #48]
	ldr x8, [sp, #72]
	ldp x9, x10, [sp, #80]
	ldp x11, x12, [sp, #96]
	ldp x13, x14, [sp, #112]
	ldp x15, x18, [sp, #128]
	ldp x29, x30, [sp, #152]
	.cfi_def_cfa sp, 176
	.cfi_restore x29
	.cfi_restore x30
	add sp, sp, #176
	.cfi_def_cfa_offset 0
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
	cmp x0, #SYS_seccomp
	b.eq 1f
	adrp x16, real
	ldr x16, [x16, #:lo12:real]
	br x16
1:	b sandbox_syscall
	.cfi_endproc
	.size hook_syscall, . - hook_syscall
	.size syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
