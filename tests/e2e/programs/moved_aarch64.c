/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Moving the first instruction of AArch64 functions: each kind is moved and then run, and must do
 * what it did in its place.  Prints how many were compared; compiled with -I for src and its build.
 */
#include <sys/mman.h>

#include "say.h"

#include "collector/aarch64/relocate.c"

#define HELPER 64	/* words into the page: returns 7 through x30 */
#define DATA 96		/* two numbers */
#define MOVED 512	/* where the moved code goes */
#define END 0xd61f0140u /* br x10: back to call_at() */

static uint32_t *page;

/* Calls code with an argument in x0 and the flags of comparing it with 0; x10 and x30 lead back, x1
 * has the helper's address, x12 gets the first double. */
static uint64_t call_at(const uint32_t *code, uint64_t argument)
{
	register uint64_t x0 __asm__("x0") = argument;
	register const void *x1 __asm__("x1") = page + HELPER;
	register const void *x11 __asm__("x11") = code;

	__asm__ volatile("adr x10, 1f\n\tmov x30, x10\n\tmovi d0, #0\n\tcmp x0, #0\n\tbr x11\n1:"
			 : "+r"(x0), "+r"(x1), "+r"(x11)
			 :
			 : "x2", "x3", "x9", "x10", "x12", "x16", "x17", "x30", "cc", "memory",
			   "d0");
	return x0;
}

/* A page for each, where no code has been. */
static void new_page(void)
{
	static const uint32_t helper[] = { 0xd28000e0 /* mov x0, #7 */, 0xd65f03c0 };
	static const uint64_t data[] = { 0x8123456789abcdef, 0xfedcba9876543210 };

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (page == MAP_FAILED)
		fail("mmap");
	memcpy(page + HELPER, helper, sizeof(helper));
	memcpy(page + DATA, data, sizeof(data));
}

static unsigned compare(const char *what, const uint32_t *code, size_t words)
{
	static const uint64_t arguments[] = { 0, 1, 2, 3, 0x8000000000000000 };
	struct shm_site site = { 0 };
	struct relocate_code r;
	const char *why;

	new_page();
	r = (struct relocate_code){ (const uint8_t *)page, words * 4, 4096, (uint64_t)page };
	memcpy(page, code, words * 4);
	why = relocate_entry(&r, false, &site);
	if (why)
		fail("%s: %s", what, why);
	memcpy(page + MOVED, site.code, site.code_size);
	__builtin___clear_cache((char *)page, (char *)(page + 1024));
	for (unsigned i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		uint64_t there = call_at(page, arguments[i]);
		uint64_t moved = call_at(page + MOVED, arguments[i]);

		if (there != moved)
			fail("%s of %llx: %llx in its place, %llx elsewhere", what,
			     (unsigned long long)arguments[i], (unsigned long long)there,
			     (unsigned long long)moved);
	}
	return 1;
}

#define COMPARE(what, ...)                                                                         \
	(compared += compare(what, (const uint32_t[]){ __VA_ARGS__ },                              \
			     sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4))

/* The distance from the first word, in the field that most have it in. */
#define TO(words) ((uint32_t)(words) << 5)

int main(void)
{
	unsigned compared = 0;
	struct shm_site site;
	struct relocate_code r;

	COMPARE("add", 0x91000c00, END);		     /* add x0, x0, #3 */
	COMPARE("adr", 0x10000000 | TO(DATA), END);	     /* adr x0, data */
	COMPARE("adr back", 0x70ffffe0, END);		     /* adr x0, . - 1 */
	COMPARE("adrp", 0xb0000000 | TO(5), END);	     /* adrp x0, . + 21 pages */
	COMPARE("adrp x16", 0x90000010, 0xaa1003e0, END);    /* adrp x16, .; mov x0, x16 */
	COMPARE("b", 0x14000000 | HELPER);		     /* b helper */
	COMPARE("bl", 0x94000000 | HELPER, 0x91000400, END); /* bl helper; add x0, x0, #1 */
	COMPARE("blr", 0xd63f0020, 0x91000400, END);	     /* blr x1; add x0, x0, #1 */
	COMPARE("b.eq", 0x54000000 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("b.mi", 0x54000004 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("cbz", 0xb4000000 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("cbnz w", 0x35000000 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("tbz", 0x36000000 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("tbnz 63", 0xb7f80000 | TO(3), 0xd28000a0, END, 0xd2800120, END);
	COMPARE("ldr x", 0x58000000 | TO(DATA), END);
	COMPARE("ldr w", 0x18000000 | TO(DATA), END);
	COMPARE("ldrsw", 0x98000000 | TO(DATA), END);
	COMPARE("ldr d", 0x5c000000 | TO(DATA), 0x9e660000, END); /* fmov x0, d0 */
	COMPARE("ldr q", 0x9c000000 | TO(DATA), 0x9eae0000, END); /* fmov x0, v0.d[1] */
	COMPARE("prfm", 0xd8000000 | TO(DATA), END);
	/* What signs stays in its place and is made again: the signature is that of the same stack
	 * register. */
	COMPARE("paciasp", 0xd503233f, 0xd28000a0, 0xd50323bf, 0xd65f03c0);
	/* bti stays, too, and what follows is moved: called where it is displaced. */
	memcpy(page, (const uint32_t[]){ 0xd503245f, 0x10000000 | TO(DATA - 1), END }, 12);
	r = (struct relocate_code){ (const uint8_t *)page, 12, 4096, (uint64_t)page };
	if (relocate_entry(&r, false, &site) || site.address != (uint64_t)page + 4 ||
	    site.entry != (uint64_t)page)
		fail("bti");
	/* A loop whose head is the entry, and a branch that checks a signature. */
	memcpy(page, (const uint32_t[]){ 0xd1000400, 0xb5ffffe0, END }, 12);
	if (!relocate_entry(&r, false, &site))
		fail("a loop");
	memcpy(page, (const uint32_t[]){ 0xd73f0820, END, END }, 12);
	if (!relocate_entry(&r, false, &site))
		fail("blraa");
	say("%u kinds\n", compared);
	return 0;
}
