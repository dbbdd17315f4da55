/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes in memory or in a file.  See row_store.h. */
#include "pairing/row_store.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scratch.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define ROOM_FIRST ((uint64_t)64 << 10)
#define ROOM_STEP ((uint64_t)32 << 20) /* that is taken of the disk */

void row_store_init(struct row_store *s)
{
	*s = (struct row_store){ .fd = -1 };
}

void row_store_into(struct row_store *s, int fd, uint64_t start)
{
	s->fd = fd;
	s->start = start;
}

static void grow_in_memory(struct row_store *s, uint64_t size)
{
	uint64_t room = s->room ? s->room : ROOM_FIRST;

	while (room < size)
		room *= 2;
	s->bytes = pages_grow(s->bytes, s->room, room);
	s->room = room;
}

/* The disk is full: back into memory, and may it be enough. */
static void back_to_memory(struct row_store *s)
{
	int fd = s->fd;

	s->fd = -1;
	s->room = 0;
	grow_in_memory(s, s->size);
	/* What was written can be read, or nothing can. */
	if (!read_at(fd, s->bytes, s->size, s->start))
		abort();
	close(fd);
}

static bool add_to_file(struct row_store *s, const void *bytes, size_t size)
{
	while (s->size + size > s->room) {
		if (scratch_reserve(s->fd, s->start + s->room, ROOM_STEP) < 0)
			return false;
		s->room += ROOM_STEP;
	}
	return write_at(s->fd, bytes, size, s->start + s->size) == 0;
}

uint64_t row_store_add(struct row_store *s, const void *bytes, size_t size)
{
	uint64_t offset = s->size;

	if (s->fd >= 0 && !add_to_file(s, bytes, size))
		back_to_memory(s);
	if (s->fd < 0) {
		if (!s->bytes || s->size + size > s->room)
			grow_in_memory(s, s->size + size);
		memcpy(s->bytes + s->size, bytes, size);
	}
	s->size += size;
	return offset;
}

const uint8_t *row_store_back(struct row_store *s)
{
	back_to_memory(s);
	return s->bytes;
}

const uint8_t *row_store_map(struct row_store *s, size_t *ret_size)
{
	if (s->fd >= 0 && s->size) {
		void *p = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, (off_t)s->start);

		if (p == MAP_FAILED)
			back_to_memory(s);
		else
			s->bytes = p;
	}
	*ret_size = s->fd < 0 ? s->room : s->size;
	return s->bytes;
}

void row_store_release(struct row_store *s)
{
	pages_free(s->bytes, s->fd < 0 ? s->room : s->size);
	if (s->fd >= 0)
		close(s->fd);
	row_store_init(s);
}
