/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files in compressed pieces.  See pieces.h. */
#include "base/pieces.h"

#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define SKIPPABLE 0x184d2a5bu /* one of the sixteen numbers that zstd has for it */
#define STORED_MAX (PIECE_SIZE + (PIECE_SIZE >> 7) + 512u)

_Static_assert(sizeof(struct pieces_end) == 24, "on disk");

bool pieces_open(struct pieces *p, int fd)
{
	struct pieces_end end;
	struct stat st;
	uint64_t size, sizes_at, at = 0;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(end))
		return false;
	size = (uint64_t)st.st_size - sizeof(end);
	if (!read_at(fd, &end, sizeof(end), size) ||
	    memcmp(end.magic, PIECES_MAGIC, sizeof(end.magic)) != 0 ||
	    end.piece_size != PIECE_SIZE || !end.count ||
	    end.count != (end.total + PIECE_SIZE - 1) / PIECE_SIZE ||
	    size < 8 + (uint64_t)end.count * sizeof(*p->sizes))
		return false;
	sizes_at = size - (uint64_t)end.count * sizeof(*p->sizes);
	p->sizes = xcalloc(end.count, sizeof(*p->sizes));
	p->offsets = xcalloc(end.count, sizeof(*p->offsets));
	p->count = end.count;
	p->total = end.total;
	if (!read_at(fd, p->sizes, end.count * sizeof(*p->sizes), sizes_at)) {
		pieces_release(p);
		return false;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		p->offsets[i] = at;
		at += p->sizes[i];
		if (!p->sizes[i] || p->sizes[i] > STORED_MAX || at > sizes_at - 8) {
			pieces_release(p);
			return false;
		}
	}
	return true;
}

void pieces_release(struct pieces *p)
{
	free(p->sizes);
	free(p->offsets);
	memset(p, 0, sizeof(*p));
	p->fd = -1;
}

size_t pieces_raw_size(const struct pieces *p, uint32_t piece)
{
	return piece + 1 < p->count ? PIECE_SIZE
				    : (size_t)(p->total - (uint64_t)piece * PIECE_SIZE);
}

bool pieces_stored(const struct pieces *p, uint32_t piece, struct buf *out)
{
	buf_clear(out);
	buf_reserve(out, p->sizes[piece]);
	if (!read_at(p->fd, out->data, p->sizes[piece], p->offsets[piece]) ||
	    ZSTD_getFrameContentSize(out->data, p->sizes[piece]) != pieces_raw_size(p, piece))
		return false;
	out->size = p->sizes[piece];
	return true;
}

bool pieces_unpack(const struct pieces *p, uint64_t limit, struct buf *out)
{
	auto_buf struct buf stored = { 0 };
	bool fine = p->total <= limit;

	buf_clear(out);
	for (uint32_t i = 0; fine && i < p->count; i++) {
		size_t size = pieces_raw_size(p, i);

		fine = pieces_stored(p, i, &stored);
		if (!fine)
			break;
		/* Piece by piece: memory is only taken for what is really there. */
		buf_reserve(out, size);
		fine = ZSTD_decompress(out->data + out->size, size, stored.data, stored.size) ==
		       size;
		out->size += fine ? size : 0;
	}
	return fine;
}

static void append(struct pieces_writer *w, const void *bytes, size_t size)
{
	if (!w->error)
		w->error = write_at(w->fd, bytes, size, w->at);
	w->at += size;
}

void pieces_add(struct pieces_writer *w, const void *frame, size_t size, size_t raw_size)
{
	append(w, frame, size);
	*xpush(w->sizes, w->count, w->room) = (uint32_t)size;
	w->total += raw_size;
}

int pieces_finish(struct pieces_writer *w)
{
	struct pieces_end end = { .total = w->total,
				  .count = (uint32_t)w->count,
				  .piece_size = PIECE_SIZE };
	uint32_t head[] = { SKIPPABLE, (uint32_t)(w->count * sizeof(*w->sizes) + sizeof(end)) };

	memcpy(end.magic, PIECES_MAGIC, sizeof(end.magic));
	append(w, head, sizeof(head));
	append(w, w->sizes, w->count * sizeof(*w->sizes));
	append(w, &end, sizeof(end));
	return w->error;
}

void pieces_writer_release(struct pieces_writer *w)
{
	free(w->sizes);
	memset(w, 0, sizeof(*w));
	w->fd = -1;
}
