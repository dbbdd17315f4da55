/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of answers that were kept beside a recording, on any bytes.  Its file's sum is
 * another's (model/cache.c), so it must believe nothing. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "server/first_answers.h"

#define NAMES 0x3131313131313131u /* "11111111" */

static volatile uint64_t sum;

FUZZ(first_answers, data, size)
{
	static const char *const addresses[] = { "/a", "/timeline?", "" };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		size_t found = 0;
		bool gzip;
		const uint8_t *body =
			first_answers_find(data, size, NAMES, addresses[i], &found, &gzip);

		for (size_t k = 0; body && k < found; k++)
			sum += body[k];
	}
	return 0;
}
