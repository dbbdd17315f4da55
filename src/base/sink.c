/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Long outputs.  See sink.h. */
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/harmless.h"
#include "base/open_output.h"
#include "base/rope.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define ZSTD_LEVEL 3
#define GZIP_LEVEL 1	      /* 6 makes it a sixth smaller and takes four times as long */
#define VECTORS 512u	      /* pieces of a rope that are written at once */
#define GZIP_WINDOW (15 + 16) /* 16: a gzip header, not zlib's */

enum sink_codec sink_codec_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot && !strcmp(dot, ".gz"))
		return SINK_GZIP;
	return dot && (!strcmp(dot, ".zst") || !strcmp(dot, ".zstd")) ? SINK_ZSTD : SINK_PLAIN;
}

static int write_fd(void *context, const void *bytes, size_t size)
{
	const struct sink *s = context;

	return write_whole(s->fd, bytes, size);
}

void sink_to_function(struct sink *s, sink_write write, void *context, enum sink_codec codec)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->write = write;
	s->context = context;
	s->codec = codec;
	if (codec == SINK_GZIP) {
		z_stream *z = xcalloc(1, sizeof(*z));

		if (deflateInit2(z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) !=
		    Z_OK)
			s->error = -ENOMEM;
		s->compressor = z;
	} else if (codec == SINK_ZSTD) {
		s->compressor = ZSTD_createCCtx();
		if (!s->compressor)
			s->error = -ENOMEM;
		else
			ZSTD_CCtx_setParameter(s->compressor, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	}
}

static int write_buf(void *context, const void *bytes, size_t size)
{
	buf_add(context, bytes, size);
	return 0;
}

void sink_to_buf(struct sink *s, struct buf *out, enum sink_codec codec)
{
	sink_to_function(s, write_buf, out, codec);
}

static int write_sink(void *context, const void *bytes, size_t size)
{
	struct sink *out = context;

	buf_add(&out->buf, bytes, size);
	return sink_turn(out);
}

void sink_to_sink(struct sink *s, struct sink *out, enum sink_codec codec)
{
	sink_to_function(s, write_sink, out, codec);
}

/* Whatever a format says of names: here they are for somebody's eyes. */
static int write_terminal(void *context, const void *bytes, size_t size)
{
	const struct sink *s = context;
	auto_buf struct buf shown = { 0 };

	harmless_add(&shown, bytes, size, true);
	return write_whole(s->fd, shown.data, shown.size);
}

void sink_to_fd(struct sink *s, int fd, enum sink_codec codec)
{
	sink_to_function(s, isatty(fd) ? write_terminal : write_fd, s, codec);
	s->fd = fd;
}

/* A file without a name in the folder of `path`, so that nothing is left when we are killed; where
 * the file system has no such thing, one with a name that says what it is. */
static int open_unnamed(const char *path, char **ret_temporary)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder =
		slash ? xmemdup0(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	mode_t mask;

	*ret_temporary = NULL;
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	*ret_temporary = xasprintf("%s.XXXXXX", path);
	fd = mkostemp(*ret_temporary, O_CLOEXEC);
	if (fd < 0)
		return -1;
	mask = umask(0);
	umask(mask);
	(void)fchmod(fd, 0666 & ~mask);
	return fd;
}

int sink_to_file(struct sink *s, const char *path, enum sink_codec codec, struct err *err)
{
	char *temporary = NULL;
	bool device;
	struct stat st;
	int fd;

	/* A device or a pipe has a name that is not ours to replace. */
	device = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
	fd = device ? open_output(path, O_WRONLY, 0, OPEN_OUTPUT_WAIT_MS)
		    : open_unnamed(path, &temporary);
	if (fd < 0) {
		int error = device ? -fd : errno;

		free(temporary);
		return err_set(err, -error, "cannot write: %s", open_output_error(error));
	}
	sink_to_fd(s, fd, codec);
	s->path = xstrdup(path);
	s->temporary = temporary;
	s->unnamed = !device && !temporary;
	return 0;
}

/* A name beside the final one, for the moment between the two: only renaming replaces. */
static int give_name(struct sink *s)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", s->fd);
	for (unsigned i = 0; i < 100; i++) {
		char *name = xasprintf("%s.%d-%u", s->path, (int)getpid(), i);

		if (!linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW)) {
			s->temporary = name;
			return 0;
		}
		free(name);
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

static int hand_on(struct sink *s, const void *bytes, size_t size)
{
	int error = size ? s->write(s->context, bytes, size) : 0;

	if (!error)
		s->written += size;
	return error;
}

static int pack_gzip(struct sink *s, int flush)
{
	z_stream *z = s->compressor;
	int status;

	z->next_in = (Bytef *)s->buf.data;
	z->avail_in = (uInt)s->buf.size;
	do {
		buf_reserve(&s->packed, SINK_BLOCK);
		z->next_out = (Bytef *)s->packed.data + s->packed.size;
		z->avail_out = SINK_BLOCK;
		status = deflate(z, flush);
		s->packed.size += SINK_BLOCK - z->avail_out;
		if (status == Z_STREAM_ERROR)
			return -EIO;
	} while (!z->avail_out);
	return 0;
}

static int pack_zstd(struct sink *s, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { s->buf.data, s->buf.size, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out;

		buf_reserve(&s->packed, SINK_BLOCK);
		out = (ZSTD_outBuffer){ s->packed.data + s->packed.size, SINK_BLOCK, 0 };
		left = ZSTD_compressStream2(s->compressor, &out, &in, end);
		s->packed.size += out.pos;
		if (ZSTD_isError(left))
			return -EIO;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return 0;
}

static int sink_put(struct sink *s, bool last)
{
	int error = 0;

	/* zlib counts in 32 bits. */
	if (!s->error && s->codec == SINK_GZIP && s->buf.size > UINT32_MAX / 2)
		error = -EFBIG;
	else if (!s->error && s->codec == SINK_GZIP)
		error = pack_gzip(s, last ? Z_FINISH : Z_NO_FLUSH);
	else if (!s->error && s->codec == SINK_ZSTD)
		error = pack_zstd(s, last ? ZSTD_e_end : ZSTD_e_continue);
	if (!s->error && !error) {
		const struct buf *from = s->codec == SINK_PLAIN ? &s->buf : &s->packed;

		error = hand_on(s, from->data, from->size);
	}
	if (!s->error)
		s->error = error;
	buf_clear(&s->buf);
	buf_clear(&s->packed);
	return s->error;
}

int sink_flush(struct sink *s)
{
	return sink_put(s, false);
}

/* To a descriptor, from where the pieces are. */
static int write_pieces(struct sink *s, const struct rope *r)
{
	const char *text = r->text.data;
	int error = 0;

	for (size_t i = 0, n; i < r->count && !error; i += n) {
		struct iovec vectors[VECTORS];
		uint64_t size = 0;

		for (n = 0; n < VECTORS && i + n < r->count; n++) {
			const struct rope_piece *p = &r->pieces[i + n];

			vectors[n] =
				(struct iovec){ (char *)(p->bytes ? p->bytes : text), p->size };
			text += p->bytes ? 0 : p->size;
			size += p->size;
		}
		error = write_vectors(s->fd, vectors, n);
		s->written += error ? 0 : size;
	}
	return error;
}

int sink_rope(struct sink *s, struct rope *r)
{
	const char *text = r->text.data;

	rope_end(r);
	if (s->codec == SINK_PLAIN && s->write == write_fd) {
		if (!sink_flush(s))
			s->error = write_pieces(s, r);
	} else {
		for (size_t i = 0; i < r->count && !sink_turn(s); i++) {
			const struct rope_piece *p = &r->pieces[i];

			buf_add(&s->buf, p->bytes ? p->bytes : text, p->size);
			text += p->bytes ? 0 : p->size;
		}
	}
	rope_clear(r);
	return s->error;
}

static void release(struct sink *s)
{
	if (s->codec == SINK_GZIP && s->compressor) {
		deflateEnd(s->compressor);
		free(s->compressor);
	} else if (s->codec == SINK_ZSTD) {
		ZSTD_freeCCtx(s->compressor);
	}
	if (s->path && s->fd >= 0)
		close(s->fd);
	if (s->temporary)
		unlink(s->temporary);
	free(s->temporary);
	free(s->path);
	buf_release(&s->buf);
	buf_release(&s->packed);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

int sink_finish(struct sink *s, struct err *err)
{
	int error = sink_put(s, true);

	if (!error && s->unnamed)
		error = give_name(s);
	/* What was written lazily may still fail. */
	if (!error && s->path && close(s->fd) < 0)
		error = -errno;
	if (s->path)
		s->fd = -1;
	if (!error && s->temporary && rename(s->temporary, s->path) < 0)
		error = -errno;
	if (!error && s->temporary) {
		free(s->temporary);
		s->temporary = NULL;
	}
	release(s);
	return error ? err_set(err, error, "cannot write: %s", open_output_error(error)) : 0;
}

void sink_cancel(struct sink *s)
{
	release(s);
}
