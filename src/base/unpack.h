/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes of a file that may be compressed: gzip and zstd are known by their first bytes, anything
 * else is handed on as it is.  Several members or frames in a row are one file, as cat makes them.
 * Reads in a stream; memory is that of the decompressor.
 *
 * Devices, which may have no end, are refused, and large holes of a file are passed over: they are
 * zeros that nobody wrote, as a log has them that was cut while it was written. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf_type.h"
#include "base/err.h"

enum unpack_codec { UNPACK_UNKNOWN, UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD };

struct unpack {
	int fd;	      /* -1: all of it is in `in` */
	bool regular; /* a file: what it has no blocks for is passed over */
	enum unpack_codec codec;
	struct buf in; /* read, and not yet handed on */
	size_t at;
	uint64_t taken;		  /* bytes of the file that were used */
	bool file_ended, between; /* no more in the file; no member or frame is open */
	void *decompressor;
};

/* Standard input for "-"; 0, or -errno with err. */
int unpack_open(struct unpack *u, const char *path, struct err *err);
/* Bytes that are in memory, and are copied. */
void unpack_memory(struct unpack *u, const void *bytes, size_t size);
/* Up to `size` bytes: how many, 0 at the end, -EBADMSG (offset: in the file as it is) or -errno
 * with err. */
ssize_t unpack_read(struct unpack *u, void *to, size_t size, struct err *err);
void unpack_close(struct unpack *u);
/* Adds all of a file; 0, or -errno with err.  More than `limit` is refused: by the file's size
 * before anything is read, else (pipes, what is compressed) as soon as it is there.  So is what
 * cannot be text, once it is long.  `what` is "any heap profile", for the message. */
int unpack_text(struct buf *out, const char *path, uint64_t limit, const char *what,
		struct err *err);
/* A limit for what has to be in memory as a whole: a part of that, and no more than 4 GiB. */
uint64_t unpack_memory_limit(void);
