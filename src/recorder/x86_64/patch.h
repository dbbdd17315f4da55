/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Code that recorder/inplace.c writes: stubs of hooked functions and jumps to them, x86-64. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/inplace.h"

#define PATCH_STUB_SIZE 128u /* of a stub with its displaced instructions */
#define PATCH_STUB_CODE 24u  /* where those start */

#define PATCH_SLOT 8 /* from `fp` below to what tells the caller's frame apart (unwind/arch.h) */

/* What entry.S pushes. */
struct inplace_call {
	uint64_t arguments[6], result /* rax, as it was */, r10, r11, site, fp, pc;
};

static inline bool patch_distance(uint8_t *at, uint64_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - from);
	int32_t narrow = (int32_t)distance;

	memcpy(at, &narrow, sizeof(narrow));
	return narrow == distance;
}

/* The stub of a site, and behind it the displaced instructions.  `page` starts with the address of
 * our entry. */
static inline bool patch_stub(uint8_t *page, uint8_t *stub, const struct shm_site *plan,
			      uint32_t number)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t head[] = { 0x55, /* push %rbp */ 0x68,
			   0,	 0,
			   0,	 0, /* push $number */
			   0xff, 0x25,
			   0,	 0,
			   0,	 0 /* jmp *entry(%rip) */ };
	uint8_t *code = stub + PATCH_STUB_CODE + sizeof(endbr64);

	memcpy(head + 2, &number, 4);
	memcpy(stub, head, sizeof(head));
	memcpy(stub + PATCH_STUB_CODE, endbr64, sizeof(endbr64));
	memcpy(code, plan->code, plan->code_size);
	if (!patch_distance(stub + 8, (uint64_t)stub + sizeof(head), (uint64_t)page))
		return false;
	for (unsigned i = 0; i < plan->fix_count; i++) {
		const struct shm_fix *f = &plan->fixes[i];

		if (!patch_distance(code + f->at, (uint64_t)code + f->end, f->target))
			return false;
	}
	return true;
}

/* The jump from `address` to a stub; false if it does not lead that far. */
static inline bool patch_jump(uint8_t jump[ARCH_JUMP], uint64_t address, const uint8_t *stub)
{
	jump[0] = 0xe9;
	return patch_distance(jump + 1, address + ARCH_JUMP, (uint64_t)stub);
}

/* Where code was written: the processor sees that by itself. */
static inline void patch_written(__attribute__((unused)) void *from,
				 __attribute__((unused)) size_t size)
{
}
