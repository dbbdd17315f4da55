/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading until the end.  See read_file.h. */
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"

#define BLOCK 65536

ssize_t read_some(int fd, void *to, size_t room)
{
	ssize_t n;

	do
		n = read(fd, to, room);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t read_short_file(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : 1;
	size_t have = 0;

	while (n > 0 && have < room - 1) {
		n = read_some(fd, text + have, room - 1 - have);
		have += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : have] = 0;
	return n < 0 ? n : (ssize_t)have;
}

int read_to_end(int fd, struct buf *out, size_t most)
{
	ssize_t n = 1;

	while (n > 0 && out->size <= most) {
		buf_reserve(out, BLOCK);
		n = read_some(fd, out->data + out->size, BLOCK);
		out->size += n > 0 ? (size_t)n : 0;
	}
	buf_text(out, ""); /* its NUL */
	return n < 0 ? (int)n : 0;
}
