/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Code that recorder/inplace.c writes: stubs of hooked functions and jumps to them, AArch64. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/inplace.h"

#define PATCH_STUB_SIZE 128u /* of a stub with its displaced instruction */
#define PATCH_STUB_CODE 16u  /* where that starts */

#define PATCH_SLOT 24 /* from `fp` below to what tells the caller's frame apart (unwind/arch.h) */

/* What entry.S stores. */
struct inplace_call {
	uint64_t arguments[6], x6, x7, result /* x0, as it was */, x8_to_x15[8], x18, site, fp, pc,
		sp;
};
_Static_assert(sizeof(struct inplace_call) == 176, "entry.S has these numbers");

/* The stub of a site, and behind it the displaced instruction, which comes with literals of its
 * own.  `page` starts with the address of our entry. */
static inline bool patch_stub(uint8_t *page, uint8_t *stub, const struct shm_site *plan,
			      uint32_t number)
{
	uint32_t distance = (uint32_t)(page - (stub + 4)) / 4, first = 0;
	uint32_t head[] = {
		0xd503201f,				/* nop */
		0x58000010 | (distance & 0x7ffff) << 5, /* ldr x16, page */
		0x52800011 | number << 5,		/* mov w17, #number */
		0xd61f0200,				/* br x16 */
	};

	/* What signs the return address is left at the entry, and is before the jump. */
	if (plan->address != plan->entry)
		memcpy(&first, (const void *)plan->entry, sizeof(first));
	if (first == 0xd503233f) /* paciasp */
		head[0] = 0xd50323bf;
	else if (first == 0xd503237f) /* pacibsp */
		head[0] = 0xd50323ff;
	if (stub - page >= 1 << 20 || number > UINT16_MAX || plan->fix_count)
		return false;
	memcpy(stub, head, sizeof(head));
	memcpy(stub + PATCH_STUB_CODE, plan->code, plan->code_size);
	__builtin___clear_cache((char *)stub, (char *)stub + PATCH_STUB_SIZE);
	return true;
}

/* The jump from `address` to a stub; false if it does not lead that far. */
static inline bool patch_jump(uint8_t jump[ARCH_JUMP], uint64_t address, const uint8_t *stub)
{
	int64_t distance = (int64_t)((uint64_t)stub - address) / 4;
	uint32_t branch = 0x14000000 | ((uint32_t)distance & 0x03ffffff);

	memcpy(jump, &branch, sizeof(branch));
	return distance >= -(1 << 25) && distance < 1 << 25;
}

/* Where code was written. */
static inline void patch_written(void *from, size_t size)
{
	__builtin___clear_cache((char *)from, (char *)from + size);
}
