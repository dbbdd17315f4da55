/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pwrite() until everything is written, for writers that put a file together out of order (columns,
 * the cache, extracted files), and pread() until everything is read.  Any thread. */
#include "base/write_at.h"

#include <errno.h>
#include <unistd.h>

int write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const uint8_t *p = bytes;

	while (size) {
		ssize_t n = pwrite(fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	uint8_t *p = to;

	while (size) {
		ssize_t n = pread(fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}
