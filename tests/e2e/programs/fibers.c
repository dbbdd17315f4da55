/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many stacks in one thread: ucontext fibers and stacks switched by hand, with an unreadable page
 * directly above (and below) each stack, unmapped and mapped again between events. */
#include <sys/mman.h>
#include <ucontext.h>

#include "say.h"

#define FIBERS 16
#define STACK 65536

static ucontext_t back, fibers[FIBERS];
static long allocated;

static NOINLINE void work(int depth, int number)
{
	void *p = HIDE(malloc((size_t)number * 100 + (size_t)depth + 1));

	allocated++;
	if (depth > 0)
		work(depth - 1, number);
	if (depth == 3)
		swapcontext(&fibers[number], &back);
	free(p);
	KEEP(p);
}

static void fiber(int number)
{
	for (int i = 0; i < 50; i++) {
		work(5 + number % 4, number);
		swapcontext(&fibers[number], &back);
	}
}

/* The stack's top is the last byte before an unreadable page. */
static char *guarded_stack(void)
{
	char *map = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map + 4096, STACK, PROT_READ | PROT_WRITE))
		fail("mmap");
	return map + 4096;
}

static void with_ucontext(void)
{
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = guarded_stack();
		fibers[i].uc_stack.ss_size = STACK;
		fibers[i].uc_link = &back;
		makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
	}
	for (int round = 0; round < 100; round++)
		for (int i = 0; i < FIBERS; i++)
			swapcontext(&back, &fibers[i]);
	say("ucontext: %ld allocations\n", allocated);
}

/* Switches to `stack`, calls function(argument), comes back.  The outermost frame on the new stack
 * is this one, whose return address the unwinder finds on the old stack through rbx (x19, s0), or
 * not at all.
 */
void on_stack(void *stack, void (*function)(long), long argument);
/* The same without any unwind information, and with rbp (x29, fp) pointing to nowhere. */
void on_stack_bare(void *stack, void (*function)(long), long argument);

#ifdef __aarch64__
__asm__(".text\n.globl on_stack\n.type on_stack, @function\non_stack:\n"
	".cfi_startproc\n"
	"stp x19, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 19, -16\n"
	".cfi_offset 30, -8\n"
	"mov x19, sp\n.cfi_def_cfa_register 19\n"
	"mov sp, x0\nmov x0, x2\nblr x1\n"
	"mov sp, x19\n.cfi_def_cfa_register 31\n"
	"ldp x19, x30, [sp], #16\n.cfi_def_cfa_offset 0\nret\n.cfi_endproc\n"
	".size on_stack, .-on_stack\n"
	".globl on_stack_bare\n.type on_stack_bare, @function\non_stack_bare:\n"
	"stp x19, x30, [sp, #-32]!\nstr x29, [sp, #16]\nmov x19, sp\n"
	"mov sp, x0\nmov x0, x2\nmov x29, #0xbee0\nmovk x29, #0xdead, lsl #16\nblr x1\n"
	"mov sp, x19\nldr x29, [sp, #16]\nldp x19, x30, [sp], #32\nret\n"
	".size on_stack_bare, .-on_stack_bare\n"
	".section .note.GNU-stack,\"\",@progbits\n.text\n");
#elif defined(__mips__)
__asm__(".text\n.set push\n.set noreorder\n"
	".globl on_stack\n.type on_stack, @function\non_stack:\n"
	".cfi_startproc\n"
	"daddiu $29, $29, -16\n.cfi_def_cfa_offset 16\n"
	"sd $16, 0($29)\nsd $31, 8($29)\n.cfi_offset 16, -16\n.cfi_offset 31, -8\n"
	"move $16, $29\n.cfi_def_cfa_register 16\n"
	"move $29, $4\nmove $25, $5\njalr $25\nmove $4, $6\n"
	"move $29, $16\n.cfi_def_cfa_register 29\n"
	"ld $16, 0($29)\nld $31, 8($29)\njr $31\ndaddiu $29, $29, 16\n.cfi_endproc\n"
	".size on_stack, .-on_stack\n"
	".globl on_stack_bare\n.type on_stack_bare, @function\non_stack_bare:\n"
	"daddiu $29, $29, -32\nsd $16, 0($29)\nsd $30, 8($29)\nsd $31, 16($29)\n"
	"move $16, $29\nmove $29, $4\nmove $25, $5\nli $30, 0x7eefbee0\n"
	"jalr $25\nmove $4, $6\n"
	"move $29, $16\nld $16, 0($29)\nld $30, 8($29)\nld $31, 16($29)\n"
	"jr $31\ndaddiu $29, $29, 32\n"
	".size on_stack_bare, .-on_stack_bare\n"
	".set pop\n.section .note.GNU-stack,\"\",@progbits\n.text\n");
#elif defined(__arm__)
__asm__(".text\n.syntax unified\n.thumb\n.globl on_stack\n.type on_stack, %function\n"
	".thumb_func\non_stack:\n.fnstart\n"
	"push {r4, lr}\n.save {r4, lr}\nmov r4, sp\n.setfp r4, sp\n"
	"mov sp, r0\nmov r0, r2\nblx r1\nmov sp, r4\npop {r4, pc}\n.fnend\n"
	".size on_stack, .-on_stack\n"
	".globl on_stack_bare\n.type on_stack_bare, %function\n.thumb_func\non_stack_bare:\n"
	"push {r4, r7, r11, lr}\nmov r4, sp\nmov sp, r0\nmov r0, r2\n"
	"movw r7, #0xbee0\nmovt r7, #0xdead\nmov r11, r7\nblx r1\n"
	"mov sp, r4\npop {r4, r7, r11, pc}\n.size on_stack_bare, .-on_stack_bare\n"
	".section .note.GNU-stack,\"\",%progbits\n.text\n");
#else
__asm__(".text\n.globl on_stack\n.type on_stack, @function\non_stack:\n"
	".cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"mov %rdi, %rsp\nmov %rdx, %rdi\ncall *%rsi\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size on_stack, .-on_stack\n"
	".globl on_stack_bare\n.type on_stack_bare, @function\non_stack_bare:\n"
	"push %rbx\npush %rbp\nmov %rsp, %rbx\nmov %rdi, %rsp\nmov %rdx, %rdi\n"
	"mov $0xdeadbeef0, %rbp\ncall *%rsi\n"
	"mov %rbx, %rsp\npop %rbp\npop %rbx\nret\n.size on_stack_bare, .-on_stack_bare\n"
	".section .note.GNU-stack,\"\",@progbits\n.text\n");
#endif

static void by_hand(long depth)
{
	void *p = HIDE(malloc((size_t)depth + 10));

	allocated++;
	if (depth)
		by_hand(depth - 1);
	free(p);
	KEEP(depth);
}

static void again(long count)
{
	void *p;

	for (long i = 0; i < count; i++) {
		p = HIDE(malloc(200));
		allocated++;
		free(p);
	}
	by_hand(count % 7);
}

int main(void)
{
	char *map;

	with_ucontext();
	for (int i = 0; i < 300; i++) {
		char *stack = guarded_stack();

		on_stack(stack + STACK, by_hand, i % 20);
		on_stack_bare(stack + STACK, by_hand, i % 20);
		on_stack_bare(stack + STACK - 16, again, i % 11);
		munmap(stack - 4096, STACK + 8192);
	}
	say("by hand: %ld allocations\n", allocated);

	/* The page above a stack is readable at one event and gone at the next. */
	map = mmap(NULL, STACK + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		fail("mmap");
	/* A page of its own: Linux 6.1 on MIPS loses count of the page of zeroes that only reading
	 * gives, when that is protected, and damages itself. */
	map[STACK] = 0;
	for (int i = 0; i < 300; i++) {
		if (mprotect(map + STACK, 4096, i & 1 ? PROT_NONE : PROT_READ | PROT_WRITE))
			fail("mprotect");
		on_stack(map + STACK, again, 8);
		on_stack_bare(map + STACK, again, 8);
	}
	/* The whole stack goes away and another thing takes its place. */
	for (int i = 0; i < 200; i++) {
		char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		if (stack == MAP_FAILED)
			fail("mmap");
		on_stack(stack + STACK, again, 5);
		if (i % 2)
			memset(stack, 0x5a, STACK);
		on_stack_bare(stack + STACK / 2, again, 5);
		munmap(stack, STACK);
	}
	say("shifting: %ld allocations\n", allocated);
	return 0;
}
