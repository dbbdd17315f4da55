/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks out of a file.  See reader.h. */
#include "recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lz4.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/write_at.h"
#include "base/xalloc.h"
#include "wire/codec.h"
#include "wire/varint.h"

/* What a compressor may add to bytes that do not compress. */
#define STORED_MAX (FORMAT_CHUNK_RAW_MAX + FORMAT_CHUNK_RAW_MAX / 128 + 4096u)

/* Reads exactly `size` bytes; false at an error or the end of the file. */
static bool reader_bytes(const struct reader *r, uint64_t offset, void *out, size_t size)
{
	if (r->memory) {
		if (offset > r->size || size > r->size - offset)
			return false;
		memcpy(out, r->memory + offset, size);
		return true;
	}
	return read_at(r->fd, out, size, offset);
}

static int check_header(struct reader *r, struct err *err)
{
	struct format_header *h = &r->header;

	if (!r->size)
		return err_at(err, -EINVAL, 0, "the file is empty");
	if (r->size < sizeof(*h)) {
		uint8_t start[sizeof(h->magic)] = { 0 };
		size_t n = r->size < sizeof(start) ? (size_t)r->size : sizeof(start);

		if (!reader_bytes(r, 0, start, n) || memcmp(start, FORMAT_MAGIC, n) != 0)
			return err_at(err, -EINVAL, 0, "not a memoir recording");
		return err_at(err, -EINVAL, r->size, "the file ends within its header");
	}
	if (!reader_bytes(r, 0, h, sizeof(*h)))
		return err_at(err, -EIO, 0, "the header cannot be read");
	if (memcmp(h->magic, FORMAT_MAGIC, sizeof(h->magic)) != 0)
		return err_at(err, -EINVAL, 0, "not a memoir recording");
	if (h->version > FORMAT_VERSION)
		return err_at(err, -EINVAL, offsetof(struct format_header, version),
			      "written in format version %" PRIu32
			      ", this memoir reads up to %u: use a newer one",
			      h->version, FORMAT_VERSION);
	if (!h->version)
		return err_at(err, -EINVAL, offsetof(struct format_header, version),
			      "there is no format version 0");
	if (h->size < sizeof(*h) || h->size > r->size)
		return err_at(err, -EINVAL, offsetof(struct format_header, size),
			      "the header claims to have %" PRIu32 " bytes", h->size);
	r->offset = h->size;
	return 0;
}

static void look_for_trailer(struct reader *r)
{
	struct format_trailer t;

	r->trailer = r->size >= sizeof(t) && reader_bytes(r, r->size - sizeof(t), &t, sizeof(t)) &&
		     memcmp(t.magic, FORMAT_TRAILER_MAGIC, sizeof(t.magic)) == 0;
}

void reader_refresh(struct reader *r)
{
	struct stat st;

	if (r->fd >= 0 && fstat(r->fd, &st) == 0)
		r->size = (uint64_t)st.st_size;
	look_for_trailer(r);
}

int reader_open(struct reader *r, const char *path, struct err *err)
{
	struct stat st;
	int error;

	memset(r, 0, sizeof(*r));
	/* Not to hang on a fifo; regular files do not care. */
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st) < 0) {
		error = -errno;
		err_set(err, error, "%s", strerror(-error));
	} else if (!S_ISREG(st.st_mode)) {
		error = err_set(err, -EINVAL, "%s",
				S_ISDIR(st.st_mode)
					? "it is a folder: name one of the recordings in it"
					: "not a regular file");
	} else {
		reader_refresh(r);
		error = check_header(r, err);
	}
	if (error)
		reader_release(r);
	return error;
}

int reader_open_memory(struct reader *r, const void *data, size_t size, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->memory = data ? data : (const void *)"";
	r->size = size;
	look_for_trailer(r);
	return check_header(r, err);
}

void reader_release(struct reader *r)
{
	if (r->fd >= 0 && !r->memory)
		close(r->fd);
	r->fd = -1;
}

bool reader_is_being_written(const struct reader *r)
{
	if (r->fd < 0)
		return false;
	if (flock(r->fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(r->fd, LOCK_UN);
	return false;
}

/* Fewer bytes are left than a chunk needs. */
static enum reader_status stops_short(const struct reader *r, uint64_t left, struct err *err)
{
	struct format_trailer t;

	if (r->ended && left == sizeof(t) && reader_bytes(r, r->offset, &t, sizeof(t)) &&
	    memcmp(t.magic, FORMAT_TRAILER_MAGIC, sizeof(t.magic)) == 0) {
		if (t.index_offset == r->index_offset)
			return READER_END;
		err_at(err, -EINVAL, r->offset, "the trailer points at no index");
		return READER_DAMAGED;
	}
	if (r->ended) {
		err_at(err, -EINVAL, r->offset, "bytes after the end that are not a trailer");
		return READER_DAMAGED;
	}
	err_at(err, -EINVAL, r->offset, "the file ends within a chunk");
	return r->trailer ? READER_DAMAGED : READER_CUT;
}

static const char *what_is_wrong(const struct reader *r, const struct format_chunk *h)
{
	if (h->magic != FORMAT_CHUNK_MAGIC)
		return h->magic ? "no chunk starts here" : "zeros where a chunk should start";
	if (h->raw_size > FORMAT_CHUNK_RAW_MAX)
		return "a chunk larger than any may be";
	if (h->stored_size > STORED_MAX)
		return "a chunk stored in more bytes than any needs";
	if (h->sequence != r->sequence)
		return "a chunk out of sequence";
	return NULL;
}

static void *room_for(uint8_t **data, size_t *room, size_t size)
{
	if (*room < size) {
		free(*data);
		*data = xmalloc(size);
		*room = size;
	}
	return *data;
}

static bool read_stored(const struct reader *r, uint64_t offset, struct chunk *c)
{
	uint8_t *p = room_for(&c->stored, &c->stored_room, c->head.stored_size + CODEC_PAD);

	c->offset = offset;
	c->payload = NULL;
	memset(p + c->head.stored_size, 0, CODEC_PAD);
	return reader_bytes(r, offset + sizeof(c->head), p, c->head.stored_size);
}

enum reader_status reader_next(struct reader *r, struct chunk *c, struct err *err)
{
	uint64_t left = r->size > r->offset ? r->size - r->offset : 0;
	const char *wrong;

	if (!left && r->ended)
		return READER_END;
	if (!left) {
		err_at(err, -EINVAL, r->offset, "the file ends without its end mark");
		return READER_CUT;
	}
	if (left < sizeof(c->head))
		return stops_short(r, left, err);
	if (!reader_bytes(r, r->offset, &c->head, sizeof(c->head))) {
		err_at(err, -EIO, r->offset, "the file cannot be read");
		return READER_CUT;
	}
	wrong = what_is_wrong(r, &c->head);
	if (wrong) {
		err_at(err, -EINVAL, r->offset, "%s", wrong);
		return READER_DAMAGED;
	}
	if (c->head.stored_size > left - sizeof(c->head))
		return stops_short(r, left, err);
	if (!read_stored(r, r->offset, c)) {
		err_at(err, -EIO, r->offset, "the file cannot be read");
		return READER_CUT;
	}
	/* What these two say is known before the payload is checked; a wrong sum stops everything
	 * behind it anyway. */
	if (c->head.type == CHUNK_END)
		r->ended = true;
	if (c->head.type == CHUNK_INDEX)
		r->index_offset = r->offset;
	r->offset += sizeof(c->head) + c->head.stored_size;
	r->sequence++;
	return READER_CHUNK;
}

bool reader_again(const struct reader *r, uint64_t offset, struct chunk *c, struct err *err)
{
	if (!reader_bytes(r, offset, &c->head, sizeof(c->head)) ||
	    c->head.magic != FORMAT_CHUNK_MAGIC || c->head.raw_size > FORMAT_CHUNK_RAW_MAX ||
	    c->head.stored_size > STORED_MAX || offset > r->size ||
	    c->head.stored_size > r->size - offset || !read_stored(r, offset, c)) {
		err_at(err, -EIO, offset, "the chunk has changed since it was read first");
		return false;
	}
	return chunk_unpack(c, err);
}

/* May `stored_size` bytes become raw_size of them?  Asked before memory is taken for those. */
static bool can_become(const struct chunk *c)
{
	unsigned long long size;

	switch (c->head.codec) {
	case CODEC_RAW:
		return c->head.raw_size == c->head.stored_size;
	case CODEC_ZSTD:
		size = ZSTD_getFrameContentSize(c->stored, c->head.stored_size);
		return size == c->head.raw_size || size == ZSTD_CONTENTSIZE_UNKNOWN;
	case CODEC_LZ4:
		return c->head.raw_size / 255 <= c->head.stored_size;
	default:
		return false;
	}
}

static bool decompress(struct chunk *c)
{
	size_t size = c->head.raw_size;
	uint8_t *out = room_for(&c->raw, &c->raw_room, size + CODEC_PAD);

	memset(out + size, 0, CODEC_PAD);
	c->payload = out;
	if (c->head.codec == CODEC_LZ4)
		return LZ4_decompress_safe((const char *)c->stored, (char *)out,
					   (int)c->head.stored_size, (int)size) == (int)size;
	if (!c->zstd)
		c->zstd = ZSTD_createDCtx();
	return c->zstd &&
	       ZSTD_decompressDCtx(c->zstd, out, size, c->stored, c->head.stored_size) == size;
}

bool chunk_unpack(struct chunk *c, struct err *err)
{
	uint64_t seed = XXH3_64bits(&c->head, offsetof(struct format_chunk, checksum));

	if (XXH3_64bits_withSeed(c->stored, c->head.stored_size, seed) != c->head.checksum) {
		err_at(err, -EINVAL, c->offset, "a chunk's checksum does not match");
		return false;
	}
	if (!can_become(c)) {
		err_at(err, -EINVAL, c->offset, "a chunk's compression or size makes no sense");
		return false;
	}
	c->payload_size = c->head.raw_size;
	if (c->head.codec == CODEC_RAW) {
		c->payload = c->stored;
		return true;
	}
	if (!decompress(c)) {
		err_at(err, -EINVAL, c->offset, "a chunk cannot be decompressed");
		return false;
	}
	return true;
}

static uint64_t events_of_index(const uint8_t *p, const uint8_t *end)
{
	uint64_t sum = 0, type, offset, events;

	while (varint_get(&p, end, &type) && varint_get(&p, end, &offset) &&
	       varint_get(&p, end, &events))
		sum += events < UINT32_MAX ? events : 0;
	return sum;
}

uint64_t reader_events(const struct reader *r)
{
	struct format_trailer t;
	struct chunk c = { 0 };
	uint64_t sum = 0;
	struct err err;

	if (r->trailer && reader_bytes(r, r->size - sizeof(t), &t, sizeof(t)) &&
	    reader_again(r, t.index_offset, &c, &err) && c.head.type == CHUNK_INDEX)
		sum = events_of_index(c.payload, c.payload + c.payload_size);
	chunk_release(&c);
	return sum;
}

void chunk_release(struct chunk *c)
{
	free(c->stored);
	free(c->raw);
	ZSTD_freeDCtx(c->zstd);
	memset(c, 0, sizeof(*c));
}
