/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* write() and pwrite() until everything is written, the latter for those who put a file together
 * out of order (columns, the cache, extracted files), and pread() until everything is read. */
#include "base/write_at.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/open_output.h"

#define TURN_MS 20

/* Until a descriptor that does not wait takes more. */
static bool wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	for (int waited = 0; waited < OPEN_OUTPUT_WAIT_MS; waited += TURN_MS)
		if (poll(&p, 1, TURN_MS) > 0)
			return true;
	return false;
}

int write_vectors(int fd, struct iovec *v, size_t count)
{
	while (count) {
		ssize_t n = writev(fd, v, (int)count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (!wait_for_room(fd))
				return -ETIMEDOUT;
			continue;
		}
		if (n < 0 || (!n && v->iov_len))
			return n ? -errno : -EIO;
		for (; count && (size_t)n >= v->iov_len; v++, count--)
			n -= (ssize_t)v->iov_len;
		if (count) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	return 0;
}

int write_whole(int fd, const void *bytes, size_t size)
{
	return write_vectors(fd, &(struct iovec){ (void *)bytes, size }, 1);
}

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

ssize_t read_at_most(int fd, void *to, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return read_at_most(fd, to, size, offset) == (ssize_t)size;
}
