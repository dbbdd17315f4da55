/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compressed files on any bytes: reading ends, within bounds, and the same bytes come out whether
 * they are asked for in small or in large pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/unpack.h"
#include "fuzz.h"

#define MOST (1u << 20) /* a few bytes may hold gigabytes */

static ssize_t all(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
	struct err err = { .text = "" };
	struct unpack u;
	ssize_t n = 1;

	unpack_memory(&u, data, size);
	while (n > 0 && out->size < MOST) {
		buf_reserve(out, piece);
		n = unpack_read(&u, out->data + out->size, piece, &err);
		if (n > (ssize_t)piece || (n < 0 && (!*err.text || err.offset > size)))
			abort();
		if (n > 0)
			out->size += (size_t)n;
	}
	unpack_close(&u);
	return n;
}

FUZZ(unpack, data, size)
{
	struct buf one = { 0 }, two = { 0 };
	ssize_t a = all(data, size, 4096, &one), b = all(data, size, 1 << 16, &two);
	size_t common = one.size < two.size ? one.size : two.size;

	/* Of damaged data as much as was asked for at once may be lost. */
	if ((common && memcmp(one.data, two.data, common) != 0) ||
	    (a == 0 && b == 0 && one.size != two.size))
		abort();
	buf_release(&one);
	buf_release(&two);
	return 0;
}
