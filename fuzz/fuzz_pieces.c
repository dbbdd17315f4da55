/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared tables of binaries (base/pieces.h) on any bytes: the sender of a recording may have put
 * anything beside it.  What opens is unpacked within its limit, or refused. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf_type.h"
#include "base/pieces.h"
#include "fuzz.h"

#define MOST (4u << 20)

FUZZ(pieces, data, size)
{
	static int fd = -1;
	struct buf out = { 0 };
	struct pieces p;

	if (fd < 0)
		fd = memfd_create("pieces", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (pieces_open(&p, fd)) {
		for (uint32_t i = 0; i < p.count; i++)
			if (pieces_raw_size(&p, i) > PIECE_SIZE ||
			    (pieces_stored(&p, i, &out) && out.size != p.sizes[i]))
				abort();
		if (pieces_unpack(&p, MOST, &out) && (out.size != p.total || out.size > MOST))
			abort();
		pieces_release(&p);
	}
	buf_release(&out);
	return 0;
}
