/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Growing bytes.  See buf.h. */
#include "base/buf.h"

#include <string.h>
#include <unistd.h>

#include "base/harmless.h"
#include "base/write_at.h"
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

int buf_flush(struct buf *b, int fd)
{
	struct buf shown = { 0 };
	int error;

	if (b->size && (fd == STDERR_FILENO || isatty(fd))) {
		harmless_add(&shown, b->data, b->size, true);
		error = write_whole(fd, shown.data, shown.size);
		buf_release(&shown);
	} else {
		error = write_whole(fd, b->data, b->size);
	}
	if (!error)
		buf_clear(b);
	return error;
}
