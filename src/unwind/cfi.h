/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The decoder of .eh_frame (or what the processor has instead: arm/exidx.c): from an address to a
 * rule. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

/* Where a module's unwind information is in memory.  Nothing outside [low, high) is read. */
struct cfi_image {
	const uint8_t *low, *high;
	const uint8_t *eh_frame_hdr;
	const uint8_t *frames; /* without a header: records that were registered by themselves */
	size_t entries;	       /* of an .ARM.exidx, which is then at eh_frame_hdr */
};

/* A cursor over the bytes; `bad` sticks, and everything read after it is 0. */
struct cfi_cursor {
	const uint8_t *p, *end;
	bool bad;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t pointer_encoding;
	bool signal_frame, has_sizes;
	struct cfi_cursor program;
};

/* One row of the table that an FDE's program builds, for the three columns that matter. */
struct cfi_row {
	const uint8_t *cfa_expression; /* NULL: register and offset */
	const uint8_t *fp_expression;
	int32_t cfa_offset, fp_offset, ra_offset; /* greater ones make no rule: see narrow() */
	uint8_t cfa_register, fp, ra;
};

#define CFI_REMEMBERED 4

/* The decoder's working memory, the caller's because the stack that it runs on may be tiny. */
struct cfi_scratch {
	struct cfi_cie cie;
	struct cfi_cursor program;
	struct cfi_row row, initial, remembered[CFI_REMEMBERED];
};

/* What registered records are about, for those that describe code: their end, and the lowest and
 * the highest address.  `readable` is asked before a page is looked at.  False if there are none.
 */
struct cfi_span {
	const uint8_t *end;
	uint64_t low, high;
};
bool cfi_span(const uint8_t *frames, bool (*readable)(const void *p), struct cfi_scratch *scratch,
	      struct cfi_span *ret_span);

/* The rule for the instruction at `address`; RULE_GUESS if nothing describes it, RULE_BROKEN if
 * what describes it cannot be used. */
unwind_rule cfi_rule(const struct cfi_image *image, uint64_t address, struct cfi_scratch *scratch);
