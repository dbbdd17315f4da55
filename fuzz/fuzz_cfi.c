/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .eh_frame decoder on hostile bytes.
 *
 * It runs inside other people's processes, so it must never read outside the image that it was
 * given.  The first four bytes choose where the header is and which address is asked for; the rest
 * is the image. */
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t header, address;
	uint8_t *copy;
	struct cfi_image image;
	struct cfi_scratch scratch;

	if (size < 5)
		return 0;
	memcpy(&header, data, 2);
	memcpy(&address, data + 2, 2);
	data += 4;
	size -= 4;
	/* An exact copy, so that the sanitizer sees one byte too many. */
	copy = malloc(size);
	memcpy(copy, data, size);
	image = (struct cfi_image){ copy, copy + size, copy + header % size };
	for (int i = -4; i < 4; i++)
		cfi_rule(&image, (uint64_t)(copy + address) + (uint64_t)i * 16, &scratch);
	free(copy);
	return 0;
}
