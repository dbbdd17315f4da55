/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions are not hooked where they are on MIPS64: the collector's plan says so of each
 * (collector/mips64/relocate.c), and nothing is written. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/inplace.h"

#define PATCH_STUB_SIZE 128u
#define PATCH_STUB_CODE 16u
#define PATCH_SLOT 16

struct inplace_call {
	uint64_t arguments[6], result, site, fp, pc, sp;
};

static inline bool patch_stub(__attribute__((unused)) uint8_t *page,
			      __attribute__((unused)) uint8_t *stub,
			      __attribute__((unused)) const struct shm_site *plan,
			      __attribute__((unused)) uint32_t number)
{
	return false;
}

static inline bool patch_jump(__attribute__((unused)) uint8_t jump[ARCH_JUMP],
			      __attribute__((unused)) uint64_t address,
			      __attribute__((unused)) const uint8_t *stub)
{
	return false;
}

static inline void patch_written(__attribute__((unused)) void *from,
				 __attribute__((unused)) size_t size)
{
}
