/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The rule of an address, from the code itself.  The scratch memory is the caller's, since stacks
 * of signal handlers are small. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

enum scan_kind {
	SCAN_UNKNOWN,
	SCAN_NUMBER,
	SCAN_STACK,  /* the stack register as it is where the scan starts, and `offset` */
	SCAN_FRAME,  /* the same of the frame register */
	SCAN_LINK,   /* what the register for return addresses has there */
	SCAN_STACKED /* the word that is there in memory, at `offset` from the register in `base` */
};

struct scan_value {
	uint8_t kind, base; /* enum scan_kind */
	int64_t offset;
};

#define SCAN_STORES 4u

/* What is known on the way: of all registers, and of what the code has saved. */
struct scan_state {
	struct scan_value registers[32];
	struct scan_value at[SCAN_STORES], stored[SCAN_STORES];
	unsigned stores;
};

/* A way that was not taken. */
struct scan_branch {
	const uint8_t *p;
	struct scan_value sp, fp, link;
	struct scan_value at[SCAN_STORES], stored[SCAN_STORES];
	unsigned stores;
};

#define SCAN_BRANCHES 48u
#define SCAN_REACH (128u << 10) /* bytes, either way */

struct scan_scratch {
	struct scan_state state;
	struct scan_branch branches[SCAN_BRANCHES];
	uint8_t seen[2 * SCAN_REACH / 4 / 8];
	bool lost; /* a way led elsewhere without a return address */
};

/* By where the code leads that comes next, and by how its function begins, which is what is left
 * (with the same scratch memory) if it does not return.  `p` is where a call returns to or, if
 * `exact`, what is executed next; low <= p <= high, and all between is readable code.  RULE_BROKEN:
 * it is not understood. */
unwind_rule scan_ahead(const uint8_t *low, const uint8_t *high, const uint8_t *p, bool exact,
		       struct scan_scratch *scratch);
unwind_rule scan_back(const uint8_t *low, const uint8_t *high, const uint8_t *p, bool exact,
		      struct scan_scratch *scratch);
