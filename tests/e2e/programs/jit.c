/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that is made at run time and calls back, with unwind information, with frame pointers, and
 * with neither.
 *
 *   jit           each kind once, one place being used again with another frame
 *   jit THREADS   threads that make, register, run, deregister and overwrite code all the time
 *
 * Allocates below it, blocks of a size for each kind: 1001 described; 1002 the same place with
 * another frame; 1003 frame pointers; 1004 neither; 1005 a frame pointer and a description that
 * comes later; 1007 and 1008 described twice.  In threads: 1101 and 1102. */
#include <pthread.h>
#include <sys/mman.h>

#include "say.h"

void __register_frame(void *);
void __deregister_frame(void *);

static NOINLINE void allocate(size_t size)
{
	free(HIDE(malloc(size)));
	KEEP(size);
}

/* Calls its first argument with the second. */
typedef void jitted(void (*callee)(size_t), size_t argument);

static NOINLINE void through_jit(jitted *code, size_t size)
{
	code(allocate, size);
	KEEP(code);
}

struct jit {
	uint8_t *code, *frames; /* a page, and a part of one */
};

static struct jit make(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return (struct jit){ p, p + 4096 + 8 };
}

/* sub $room, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; add $room, %rsp; ret */
static size_t put_plain(uint8_t *code, uint8_t room)
{
	const uint8_t bytes[] = { 0x48, 0x83, 0xec, room, 0x48, 0x89, 0xf8, 0x48, 0x89,
				  0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, room, 0xc3 };

	memcpy(code, bytes, sizeof(bytes));
	return sizeof(bytes);
}

/* push %rbp; mov %rsp, %rbp; sub $64, %rsp; ...; leave; ret */
static void put_framed(uint8_t *code)
{
	const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 64,	  0x48,
				  0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3 };

	memcpy(code, bytes, sizeof(bytes));
}

/* push %rbp; mov $0x12345, %ebp; sub $64, %rsp; ...; add $64, %rsp; pop %rbp; ret */
static void put_opaque(uint8_t *code)
{
	const uint8_t bytes[] = { 0x55, 0xbd, 0x45, 0x23, 0x01, 0x00, 0x48, 0x83,
				  0xec, 64,   0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
				  0xff, 0xd0, 0x48, 0x83, 0xc4, 64,   0x5d, 0xc3 };

	memcpy(code, bytes, sizeof(bytes));
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	memcpy(p, &value, 4);
	return p + 4;
}

/* A CIE and the FDE of put_plain's code, and the end. */
static void describe(struct jit j, size_t size, uint8_t room)
{
	const uint8_t cie[] = {
		1 /* version */, 0 /* augmentation */, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0
	};
	const uint8_t program[] = { 0x44, 0x0e, room + 8, 0x4c, 0x0e, 8, 0, 0 };
	uint64_t start = (uint64_t)j.code, length = size;
	uint8_t *p = put32(j.frames, 4 + sizeof(cie)), *fde;

	p = put32(p, 0);
	memcpy(p, cie, sizeof(cie));
	fde = p + sizeof(cie);
	p = put32(fde, 4 + 16 + sizeof(program));
	p = put32(p, (uint32_t)(p - j.frames));
	memcpy(p, &start, 8);
	memcpy(p + 8, &length, 8);
	memcpy(p + 16, program, sizeof(program));
	put32(p + 16 + sizeof(program), 0);
}

static NOINLINE void described(struct jit j, uint8_t room, size_t size)
{
	describe(j, put_plain(j.code, room), room);
	__register_frame(j.frames);
	for (int i = 0; i < 3; i++)
		through_jit((jitted *)j.code, size);
	__deregister_frame(j.frames);
	memset(j.frames, 0xff, 2048);
}

/* Registrations that are never taken back: the newest counts. */
static NOINLINE void left_behind(struct jit j)
{
	struct jit second = { j.code, make().code };

	describe(j, put_plain(j.code, 24), 24);
	__register_frame(j.frames);
	through_jit((jitted *)j.code, 1007);
	describe(second, put_plain(j.code, 88), 88);
	__register_frame(second.frames);
	through_jit((jitted *)j.code, 1008);
	KEEP(second.code);
}

static void *run(void *argument)
{
	struct jit j = make();

	for (int i = 0; i < 100; i++) {
		described(j, 24, 1101);
		described(j, 88, 1102);
	}
	munmap(j.code, 8192);
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t ids[16];
	struct jit j;

	for (int i = 0; i < threads && i < 16; i++)
		if (pthread_create(&ids[i], NULL, run, NULL))
			fail("pthread_create");
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(ids[i], NULL);
	if (threads)
		return 0;
	j = make();
	described(j, 24, 1001);
	described(j, 88, 1002);
	put_framed(j.code);
	through_jit((jitted *)j.code, 1003);
	put_opaque(j.code);
	through_jit((jitted *)j.code, 1004);
	/* A guess was made about it, until it is described. */
	put_plain(j.code, 40);
	through_jit((jitted *)j.code, 1006);
	described(j, 40, 1005);
	left_behind(j);
	say("done\n");
	return 0;
}
