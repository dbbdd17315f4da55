/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .eh_frame decoder on hostile bytes.
 *
 * It runs inside other people's processes, so it must never read outside the image that it was
 * given.  The first four bytes choose where the header is and which address is asked for; the rest
 * is the image. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unwind/cfi.h"

static const uint8_t *pages;
static size_t pages_size;

static bool readable(const void *p)
{
	return (uintptr_t)p - (uintptr_t)pages < pages_size;
}

/* The same bytes as records that a JIT registers: nothing but their pages may be read. */
static void registered(const uint8_t *data, size_t size, uint16_t address)
{
	struct cfi_scratch scratch;
	struct cfi_span span;
	uint8_t *copy, *whole;
	size_t skip = address % 256; /* they start anywhere in a page */

	pages_size = (skip + size + 4095) & ~(size_t)4095;
	pages = whole = aligned_alloc(4096, pages_size);
	memset(whole, 0, pages_size);
	copy = memcpy(whole + skip, data, size);
	if (cfi_span(copy, readable, &scratch, &span)) {
		struct cfi_image image = { .low = copy, .high = span.end, .frames = copy };

		if (span.end > whole + pages_size)
			abort();
		cfi_rule(&image, span.low, &scratch);
		cfi_rule(&image, span.low + address, &scratch);
		cfi_rule(&image, span.high - 1, &scratch);
	}
	free(whole);
}

#ifndef FUZZ_WORD
#define FUZZ_WORD cfi
#endif
#define FUZZ_NAMED(word, data, size) FUZZ(word, data, size)
FUZZ_NAMED(FUZZ_WORD, data, size)
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
	registered(data, size, address);
	return 0;
}
