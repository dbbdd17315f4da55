/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Code that recorder/inplace.c writes where functions are hooked in place: not on ARM with 32 bits,
 * for which the collector makes no plan (collector/arm/relocate.c). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/inplace.h"

#define PATCH_STUB_SIZE 128u
#define PATCH_STUB_CODE 16u
#define PATCH_SLOT 0

struct inplace_call {
	uint64_t arguments[6], result, site, fp, pc, sp;
};

static inline bool patch_stub(uint8_t *page, uint8_t *stub, const struct shm_site *plan,
			      uint32_t number)
{
	(void)page;
	(void)stub;
	(void)plan;
	(void)number;
	return false;
}

static inline bool patch_jump(uint8_t jump[ARCH_JUMP], uint64_t address, const uint8_t *stub)
{
	(void)jump;
	(void)address;
	(void)stub;
	return false;
}

static inline void patch_written(void *from, size_t size)
{
	__builtin___clear_cache((char *)from, (char *)from + size);
}
