/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The decoder of .eh_frame: from an address to a rule. */
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

/* Where a module's unwind information is in memory.  Nothing outside [low, high) is read. */
struct cfi_image {
	const uint8_t *low, *high;
	const uint8_t *eh_frame_hdr;
};

/* The rule for the instruction at `address`; RULE_GUESS if nothing describes it, RULE_BROKEN if
 * what describes it cannot be used. */
unwind_rule cfi_rule(const struct cfi_image *image, uint64_t address);
