/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that no unwinder can see through: a frame register full of rubbish, functions without
 * unwind tables, code made at run time, a stack pointer off by eight, rows that lie. */
#include <sys/mman.h>

#include "say.h"

typedef void call_fn(void (*function)(void), uint64_t rbp);

/* Calls function() with any value in rbp; the tables know nothing of it. */
call_fn with_rbp;
/* The same, with tables that say the return address is somewhere else. */
call_fn with_lies;
/* Pushes an odd number of words: no frame pointer, no tables. */
call_fn with_pushes;

__asm__(".text\n.globl with_rbp\n.type with_rbp, @function\nwith_rbp:\n"
	"push %rbp\nmov %rsi, %rbp\nsub $16, %rsp\ncall *%rdi\nadd $16, %rsp\npop %rbp\nret\n"
	".size with_rbp, .-with_rbp\n"
	".globl with_lies\n.type with_lies, @function\nwith_lies:\n"
	".cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 4096000\n.cfi_offset %rbp, -8\n"
	"mov %rsi, %rbp\nsub $16, %rsp\ncall *%rdi\nadd $16, %rsp\npop %rbp\nret\n"
	".cfi_endproc\n.size with_lies, .-with_lies\n"
	".globl with_pushes\n.type with_pushes, @function\nwith_pushes:\n"
	"push %rbp\npush %rbx\npush %rsi\npush %rsi\npush %rsi\npush %rsi\nsub $8, %rsp\n"
	"mov %rsp, %rbp\ncall *%rdi\nadd $40, %rsp\npop %rbx\npop %rbp\nret\n"
	".size with_pushes, .-with_pushes\n");

static long count;

static NOINLINE void leaf(void)
{
	void *p = HIDE(malloc(321));

	count++;
	p = HIDE(realloc(p, 400));
	free(p);
	KEEP(p);
}

/* push rbp; mov rbp, rsi; sub rsp, 16; call rdi; add rsp, 16; pop rbp; ret */
static const unsigned char machine_code[] = { 0x55, 0x48, 0x89, 0xf5, 0x48, 0x83, 0xec, 0x10,
					      0xff, 0xd7, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };

int main(void)
{
	uint64_t values[] = {
		0,
		1,
		8,
		0x1000,
		0xdeadbeef,
		0x7ffffffff000,
		0x800000000000,
		0xffffffffffffffff,
		0xffffffffff600000,
		(uint64_t)(uintptr_t)&count,
		(uint64_t)(uintptr_t)main,
		0, /* a little above this frame */
		0, /* itself: a loop */
	};
	const int n = sizeof(values) / sizeof(values[0]);
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t loop[2];

	if (made == MAP_FAILED)
		fail("mmap");
	memcpy(made, machine_code, sizeof(machine_code));
	values[n - 2] = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 24;
	loop[0] = (uint64_t)(uintptr_t)loop;
	loop[1] = (uint64_t)(uintptr_t)main;
	values[n - 1] = (uint64_t)(uintptr_t)loop;
	KEEP(loop[1]);
	for (int round = 0; round < 100; round++)
		for (int i = 0; i < n; i++) {
			with_rbp(leaf, values[i]);
			with_lies(leaf, values[i]);
			with_pushes(leaf, values[i]);
			((call_fn *)made)(leaf, values[i]);
			leaf();
		}
	say("count %ld\n", count);
	return 0;
}
