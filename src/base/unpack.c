/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compressed files.  See unpack.h. */
#include "base/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/read_file.h"
#include "base/xalloc.h"

#define BLOCK (256u << 10)
#define MAGIC 4
#define HOLE_MIN (1 << 20)
#define LOOK (1u << 20) /* bytes after which it must look like text */
#define LIMIT_MIN (64ull << 20)
#define LIMIT_MAX (4ull << 30)
#define LIMIT_SHARE 8	      /* of the memory */
#define GZIP_WINDOW (15 + 16) /* 16: gzip, not zlib's own */

/* /dev/zero and disks; not a terminal, nor what is always empty. */
static bool is_endless(int fd, const struct stat *st)
{
	return S_ISBLK(st->st_mode) ||
	       (S_ISCHR(st->st_mode) && !isatty(fd) && st->st_rdev != makedev(1, 3));
}

int unpack_open(struct unpack *u, const char *path, struct err *err)
{
	memset(u, 0, sizeof(*u));
	struct stat st;

	u->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : dup(0);
	if (u->fd < 0 || fstat(u->fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	u->regular = S_ISREG(st.st_mode);
	if (is_endless(u->fd, &st)) {
		close_fd(&u->fd);
		return err_set(err, -EINVAL, "a device, not a file");
	}
	return 0;
}

void unpack_memory(struct unpack *u, const void *bytes, size_t size)
{
	memset(u, 0, sizeof(*u));
	u->fd = -1;
	u->file_ended = true;
	if (size)
		buf_add(&u->in, bytes, size);
}

void unpack_close(struct unpack *u)
{
	close_fd(&u->fd);
	if (u->codec == UNPACK_GZIP && u->decompressor)
		inflateEnd(u->decompressor);
	if (u->codec == UNPACK_GZIP)
		free(u->decompressor);
	if (u->codec == UNPACK_ZSTD)
		ZSTD_freeDCtx(u->decompressor);
	buf_release(&u->in);
	memset(u, 0, sizeof(*u));
	u->fd = -1;
}

static ssize_t read_file(struct unpack *u, void *to, size_t size, struct err *err)
{
	ssize_t n;

	if (u->fd < 0)
		return 0;
	n = read_some(u->fd, to, size);
	return n < 0 ? err_at(err, (int)n, u->taken, "%s", strerror((int)-n)) : n;
}

/* More of the file into `in`; nothing is left there at its end. */
static int refill(struct unpack *u, struct err *err)
{
	ssize_t n;

	if (u->at == u->in.size)
		u->at = u->in.size = 0;
	if (u->file_ended)
		return 0;
	buf_reserve(&u->in, BLOCK);
	n = read_file(u, u->in.data + u->in.size, BLOCK, err);
	if (n < 0)
		return (int)n;
	u->in.size += (size_t)n;
	u->file_ended = !n;
	return 0;
}

static int unpack_start(struct unpack *u, struct err *err)
{
	int e = 0;

	while (!e && u->in.size < MAGIC && !u->file_ended)
		e = refill(u, err);
	if (e)
		return e;
	u->codec = UNPACK_PLAIN;
	u->between = true;
	if (u->in.size >= 2 && !memcmp(u->in.data, "\x1f\x8b", 2)) {
		z_stream *z = xcalloc(1, sizeof(*z));

		u->codec = UNPACK_GZIP;
		u->decompressor = z;
		if (inflateInit2(z, GZIP_WINDOW) != Z_OK)
			return err_set(err, -ENOMEM, "out of memory");
	} else if (u->in.size >= 4 && !memcmp(u->in.data, "\x28\xb5\x2f\xfd", 4)) {
		u->codec = UNPACK_ZSTD;
		u->decompressor = ZSTD_createDCtx();
		if (!u->decompressor)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static void pass_hole(struct unpack *u)
{
	off_t at, data;

	if (!u->regular || (at = lseek(u->fd, 0, SEEK_CUR)) < 0)
		return;
	data = lseek(u->fd, at, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		data = lseek(u->fd, 0, SEEK_END);
	if (data - at < HOLE_MIN)
		lseek(u->fd, at, SEEK_SET);
	else
		u->taken += (uint64_t)(data - at);
}

static ssize_t plain(struct unpack *u, void *to, size_t size, struct err *err)
{
	size_t left = u->in.size - u->at;
	ssize_t n;

	if (left) {
		n = (ssize_t)(left < size ? left : size);
		memcpy(to, u->in.data + u->at, (size_t)n);
		u->at += (size_t)n;
	} else {
		pass_hole(u);
		n = read_file(u, to, size, err);
	}
	if (n > 0)
		u->taken += (uint64_t)n;
	return n;
}

static ssize_t broken(const struct unpack *u, const char *why, struct err *err)
{
	return err_at(err, -EBADMSG, u->taken, "the compressed data is %s", why);
}

static ssize_t gunzip(struct unpack *u, void *to, size_t size, struct err *err)
{
	z_stream *z = u->decompressor;
	size_t before = u->in.size - u->at;
	int status;

	z->next_in = (Bytef *)u->in.data + u->at;
	z->avail_in = (uInt)before;
	z->next_out = to;
	z->avail_out = (uInt)(size < BLOCK ? size : BLOCK);
	size = z->avail_out;
	status = inflate(z, Z_NO_FLUSH);
	u->at += before - z->avail_in;
	u->taken += before - z->avail_in;
	u->between = status == Z_STREAM_END;
	if (status == Z_STREAM_END && inflateReset(z) != Z_OK)
		return broken(u, "damaged", err);
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return broken(u, "damaged", err);
	return (ssize_t)(size - z->avail_out);
}

static ssize_t unzstd(struct unpack *u, void *to, size_t size, struct err *err)
{
	ZSTD_inBuffer in = { u->in.data + u->at, u->in.size - u->at, 0 };
	ZSTD_outBuffer out = { to, size, 0 };
	size_t left = ZSTD_decompressStream(u->decompressor, &out, &in);

	u->at += in.pos;
	u->taken += in.pos;
	if (ZSTD_isError(left))
		return broken(u, "damaged", err);
	u->between = !left;
	return (ssize_t)out.pos;
}

ssize_t unpack_read(struct unpack *u, void *to, size_t size, struct err *err)
{
	ssize_t n = 0;
	int e = u->codec == UNPACK_UNKNOWN ? unpack_start(u, err) : 0;

	if (e || !size)
		return e;
	if (u->codec == UNPACK_PLAIN)
		return plain(u, to, size, err);
	while (!n) {
		size_t before = u->in.size - u->at;

		/* What is decompressed may still be inside even if nothing is left of the file. */
		if (before || !u->between)
			n = u->codec == UNPACK_GZIP ? gunzip(u, to, size, err)
						    : unzstd(u, to, size, err);
		if (n || u->in.size - u->at < before)
			continue;
		if (u->file_ended && u->at == u->in.size)
			return u->between ? 0 : broken(u, "cut off", err);
		if (u->file_ended)
			return broken(u, "damaged", err);
		e = refill(u, err);
		if (e)
			return e;
	}
	return n;
}

uint64_t unpack_memory_limit(void)
{
	uint64_t limit = memory_limit();
	struct rlimit own;

	if (!getrlimit(RLIMIT_AS, &own) && own.rlim_cur < limit)
		limit = own.rlim_cur;
	limit /= LIMIT_SHARE;
	return limit < LIMIT_MIN ? LIMIT_MIN : limit > LIMIT_MAX ? LIMIT_MAX : limit;
}

static int too_large(uint64_t size, uint64_t limit, const char *what, struct err *err)
{
	return size ? err_set(err, -EFBIG, "%s: larger than %s (at most %s)", size_text(size), what,
			      size_text(limit))
		    : err_set(err, -EFBIG, "larger than %s (at most %s)", what, size_text(limit));
}

/* A piece at the end of `out`. */
static ssize_t add_piece(struct unpack *u, struct buf *out, uint64_t limit, const char *what,
			 struct err *err)
{
	size_t before = out->size;
	ssize_t n;

	buf_reserve(out, BLOCK);
	n = unpack_read(u, out->data + out->size, BLOCK, err);
	if (n <= 0)
		return n;
	out->size += (size_t)n;
	if (before < LOOK && out->size >= LOOK && memchr(out->data, 0, out->size))
		return err_set(err, -EINVAL, "bytes that are not text: it is not %s", what);
	return out->size > limit ? too_large(0, limit, what, err) : n;
}

int unpack_text(struct buf *out, const char *path, uint64_t limit, const char *what,
		struct err *err)
{
	struct unpack u;
	struct stat st;
	ssize_t n = unpack_open(&u, path, err);

	if (n < 0)
		return (int)n;
	if (u.regular && !fstat(u.fd, &st) && (uint64_t)st.st_size > limit)
		n = too_large((uint64_t)st.st_size, limit, what, err);
	else
		do
			n = add_piece(&u, out, limit, what, err);
		while (n > 0);
	unpack_close(&u);
	/* What was refused is not looked at; what is cut may be. */
	if (n == -EFBIG || n == -EINVAL)
		buf_release(out);
	return (int)n;
}
