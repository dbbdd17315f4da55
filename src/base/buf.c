/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Growing bytes.  See buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/harmless.h"
#include "base/xalloc.h"

void buf_release(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void buf_clear(struct buf *b)
{
	b->size = 0;
	if (b->data)
		b->data[0] = 0;
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t wanted = b->size + more + 1;

	if (wanted <= b->room)
		return;
	b->room = wanted < 2 * b->room ? 2 * b->room : wanted;
	b->data = xreallocarray(b->data, b->room, 1);
}

void buf_add(struct buf *b, const void *bytes, size_t size)
{
	buf_reserve(b, size);
	if (size)
		memcpy(b->data + b->size, bytes, size);
	b->size += size;
	b->data[b->size] = 0;
}

int buf_write(const struct buf *b, int fd)
{
	for (size_t done = 0; done < b->size;) {
		ssize_t n = write(fd, b->data + done, b->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int buf_flush(struct buf *b, int fd)
{
	struct buf shown = { 0 };
	int error;

	if (b->size && (fd == STDERR_FILENO || isatty(fd))) {
		harmless_add(&shown, b->data, b->size, true);
		error = buf_write(&shown, fd);
		buf_release(&shown);
	} else {
		error = buf_write(b, fd);
	}
	if (!error)
		buf_clear(b);
	return error;
}
