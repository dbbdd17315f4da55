/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .ARM.exidx decoder on hostile bytes.
 *
 * It runs inside other people's processes, so it must never read outside the image that it was
 * given.  The first six bytes choose where the index is, how many functions it claims and which
 * address is asked for; the rest is the image. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unwind/cfi.h"

FUZZ(exidx, data, size)
{
	uint16_t index, entries, address;
	uint8_t *copy;
	struct cfi_image image;
	struct cfi_scratch scratch;

	if (size < 7)
		return 0;
	memcpy(&index, data, 2);
	memcpy(&entries, data + 2, 2);
	memcpy(&address, data + 4, 2);
	data += 6;
	size -= 6;
	/* An exact copy, so that the sanitizer sees one byte too many. */
	copy = malloc(size);
	memcpy(copy, data, size);
	image = (struct cfi_image){ .low = copy,
				    .high = copy + size,
				    .eh_frame_hdr = copy + index % size,
				    .entries = entries };
	for (int i = -8; i < 8; i++)
		cfi_rule(&image, (uint64_t)(copy + address) + (uint64_t)(int64_t)i, &scratch);
	free(copy);
	return 0;
}
