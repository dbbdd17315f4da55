/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text for terminals.  See harmless.h. */
#include "base/harmless.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/utf8.h"
#include "base/write_at.h"

#define HELD_MAX 3 /* of a character of four bytes */

size_t harmless_next(const char *bytes, size_t size, bool *ret_control)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t n = utf8_sequence(s, size);

	*ret_control = *s < 0x20 || *s == 0x7f || (n == 2 && *s == 0xc2 && s[1] < 0xa0) ||
		       (!n && *s >= 0x80 && *s < 0xa0);
	return n ? n : 1;
}

/* Colours, and what redraws a line or a screen: see term.c, progress.c and memoir jemalloc watch.
 */
static size_t own_sequence(const char *bytes, size_t size)
{
	static const char *const sequences[] = {
		"\033[0m",     "\033[1;36m", "\033[1m",	    "\033[2m", "\033[33m", "\033[32m",
		"\033[1;33m",  "\033[K",     "\033[H",	    "\033[J",  "\033[2J",  "\033[?25l",
		"\033[?1049h", "\033[?25h",  "\033[?1049l", "\r",
	};

	for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++) {
		size_t n = strlen(sequences[i]);

		if (n <= size && !memcmp(bytes, sequences[i], n))
			return n;
	}
	return 0;
}

void harmless_add(struct buf *out, const char *bytes, size_t size, bool ours)
{
	buf_reserve(out, size);
	for (size_t i = 0, n; i < size; i += n) {
		size_t own = ours ? own_sequence(bytes + i, size - i) : 0;
		bool control;

		n = own ? own : harmless_next(bytes + i, size - i, &control);
		if (own || !control || bytes[i] == '\n' || bytes[i] == '\t')
			buf_add(out, bytes + i, n);
		else
			buf_char(out, '?');
	}
}

size_t harmless_unfinished(const char *bytes, size_t size)
{
	for (size_t n = 1; n <= HELD_MAX && n <= size; n++) {
		unsigned char c = (unsigned char)bytes[size - n];

		if (c >= 0xc2)
			return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > n ? n : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* What a stream was given and could not be judged yet. */
struct stream {
	int fd;
	char held[HELD_MAX];
	size_t held_size;
};

static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
	struct stream *s = cookie;
	auto_buf struct buf in = { 0 }, out = { 0 };
	int error;

	buf_add(&in, s->held, s->held_size);
	buf_add(&in, bytes, size);
	s->held_size = harmless_unfinished(in.data, in.size);
	memcpy(s->held, in.data + in.size - s->held_size, s->held_size);
	harmless_add(&out, in.data, in.size - s->held_size, false);
	error = write_whole(s->fd, out.data, out.size);
	if (!error)
		return (ssize_t)size;
	errno = -error;
	return 0;
}

static FILE *open_stream(struct stream *s, int mode, FILE *before)
{
	FILE *f = fopencookie(s, "w", (cookie_io_functions_t){ .write = stream_write });

	if (f)
		setvbuf(f, NULL, mode, BUFSIZ);
	return f ? f : before;
}

void harmless_streams(void)
{
	static struct stream out = { .fd = 1 }, error = { .fd = 2 };

	stdout = open_stream(&out, isatty(1) ? _IOLBF : _IOFBF, stdout);
	stderr = open_stream(&error, _IONBF, stderr);
}
