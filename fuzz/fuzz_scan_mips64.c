/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What reads unwind rules out of MIPS64 code, on code that is anything.
 *
 * It runs inside other people's processes, so it must never read outside the bytes that it was
 * given, and must come to an end.  The first byte chooses how the code lies in memory. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unwind/scan.h"

/* What a walker can do with. */
static void check(unwind_rule rule)
{
	switch (rule_kind(rule)) {
	case RULE_SP:
	case RULE_FP:
		if (rule_offset(rule) <= 0 || arch_return_slot(0, rule) == 0)
			abort();
		break;
	case RULE_LINK:
	case RULE_LINK_FP:
		if (rule_offset(rule) < 0)
			abort();
		break;
	case RULE_END:
	case RULE_BROKEN:
		break;
	default:
		abort();
	}
}

FUZZ(scan_mips64, data, size)
{
	static struct scan_scratch scratch;
	uint8_t *copy, *low;
	size_t skip;

	if (size < 2)
		return 0;
	skip = data[0] % 4;
	data++;
	size--;
	/* An exact copy, so that the sanitizer sees one byte too many. */
	copy = malloc(skip + size);
	low = memcpy(copy + skip, data, size);
	for (size_t at = 0; at <= size && at < 512; at += at < 64 ? 1 : 4)
		for (int exact = 0; exact < 2; exact++) {
			check(scan_ahead(low, low + size, low + at, exact, &scratch));
			check(scan_back(low, low + size, low + at, exact, &scratch));
		}
	free(copy);
	return 0;
}
