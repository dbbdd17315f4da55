/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where a frame is in the middle of being made or given back: unwind tables describe it only behind
 * the function's prologue. */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

enum { ARM_R4 = 4, ARM_R7 = 7, ARM_R11 = 11, ARM_SP = 13, ARM_LR = 14, ARM_PC = 15 };

/* A function's frame: the CFA is so far above a register, and registers were saved at distances
 * from it. */
struct arm_frame {
	unsigned base; /* ARM_SP, ARM_R7 or ARM_R11 */
	int64_t vsp;
	int64_t at[16]; /* from the base; as `has` says */
	uint32_t has;
};

/* The frame at an instruction of the function that starts at `start`; false where the tables have
 * to do. */
bool arm_interrupted(const struct cfi_image *image, uint64_t start, uint64_t address,
		     struct arm_frame *ret_frame);
