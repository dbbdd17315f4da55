/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Columns in a file.  See columns.h.
 *
 * A column must be one array to its readers, while in the file the columns' pieces alternate: so
 * its address range is put together from one mapping for each group.  Groups grow with what is
 * there (a quarter of it), so even 2^31 rows are some fifty of them.  Growing means a new, larger
 * range to which the kernel moves the old mappings; no row is copied.
 *
 * Room is taken with fallocate() before it is mapped: a store to a mapped page that the disk has no
 * room for is a SIGBUS.  Where a file system cannot do that, the columns stay in memory. */
#include "pairing/columns_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/scratch.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define WRITE_BEYOND 4 /* part of memory that may hold rows that are not written */
#define WRITE_ROWS (128u << 10)
#define AHEAD_ROWS (64u << 10)	    /* whose pages are there, at least */
#define ROOM_MAX (COLUMNS_MAX + 2u) /* rounded up to a whole group */

/* One column, as what is the same for all of them sees it. */
struct column {
	void **data;
	size_t element, before; /* bytes of one row in it, and in the columns before it */
};

#define X(type, name) +1
enum { COLUMN_COUNT = 0 COLUMNS(X) };
#undef X

static void list(struct columns *c, struct column *list)
{
	size_t before = 0;
	unsigned n = 0;

#define X(type, name)                                                                              \
	list[n++] = (struct column){ (void **)&c->plain.name, sizeof(type), before };              \
	before += sizeof(type);
	COLUMNS(X)
#undef X
}

static uint64_t aligned(uint64_t size)
{
	return (size + COLUMNS_ALIGN - 1) & ~(uint64_t)(COLUMNS_ALIGN - 1);
}

/* Addresses for an array.  All start at the same place within a huge page, so that moving a mapping
 * from one to the other moves whole tables of pages. */
static uint8_t *reserve(size_t size)
{
	uint8_t *p = mmap(NULL, size + HUGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t skip;

	if (p == MAP_FAILED)
		return NULL;
	skip = (size_t)(0 - (uintptr_t)p) & (HUGE_PAGE - 1);
	if (skip)
		munmap(p, skip);
	if (skip < HUGE_PAGE)
		munmap(p + skip + size, HUGE_PAGE - skip);
	return p + skip;
}

/* New rows come one after the other, old ones are met again anywhere: pages beside those that are
 * asked for would only take room. */
static void expect_anything(uint8_t *base, size_t size)
{
	madvise(base, size, MADV_RANDOM);
}

static bool map_piece(const struct column *k, uint8_t *base, int fd, const struct columns_group *g,
		      int protection)
{
	return mmap(base + (size_t)g->first * k->element, (size_t)g->count * k->element, protection,
		    MAP_SHARED | MAP_FIXED, fd,
		    (off_t)(g->offset + (uint64_t)g->count * k->before)) != MAP_FAILED;
}

/* The column's range with the new group at its end; the old one is gone then. */
static bool extend(const struct column *k, const struct columns_file *f,
		   const struct columns_group *g, uint32_t room)
{
	size_t size = (size_t)(room + g->count) * k->element;
	uint8_t *base = reserve(size), *old = *k->data;

	if (!base)
		return false;
	if (!map_piece(k, base, f->fd, g, PROT_READ | PROT_WRITE)) {
		munmap(base, size);
		return false;
	}
	for (uint32_t i = 0; i < f->group_count; i++) {
		size_t at = (size_t)f->groups[i].first * k->element;
		size_t length = (size_t)f->groups[i].count * k->element;

		/* Half of a column at one place and half at another is nothing to go on with. */
		if (mremap(old + at, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, base + at) ==
		    MAP_FAILED)
			abort();
	}
	*k->data = base;
	expect_anything(base, size);
	return true;
}

/* A store to a page that is not there yet costs the kernel four microseconds; writing zeros makes
 * pages for a seventh of that, many at a time. */
static void write_zeros(int fd, uint64_t offset, uint64_t size)
{
	static uint8_t zeros[256u << 10]; /* never written to */

	while (size) {
		size_t n = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);

		if (write_at(fd, zeros, n, offset) < 0)
			return;
		offset += n;
		size -= n;
	}
}

void columns_write_ahead(struct columns *c)
{
	struct columns_file *f = c->file;
	const struct columns_group *g;
	struct column columns[COLUMN_COUNT];
	uint32_t from, to;

	if (!f || f->ahead == c->room || f->ahead > c->count + AHEAD_ROWS)
		return;
	g = &f->groups[f->group_count - 1];
	from = f->ahead > c->count ? f->ahead : c->count;
	from = from > g->first ? from : g->first;
	to = c->room - c->count < 2 * AHEAD_ROWS ? c->room : c->count + 2 * AHEAD_ROWS;
	list(c, columns);
	for (unsigned i = 0; i < COLUMN_COUNT && from < to; i++)
		write_zeros(f->fd,
			    g->offset + (uint64_t)g->count * columns[i].before +
				    (uint64_t)(from - g->first) * columns[i].element,
			    (uint64_t)(to - from) * columns[i].element);
	f->ahead = to;
}

static uint32_t next_group(uint32_t room)
{
	uint32_t count = room / 4;

	count = (count + COLUMNS_UNIT - 1) & ~(COLUMNS_UNIT - 1);
	if (!count)
		count = COLUMNS_UNIT;
	return count < ROOM_MAX - room ? count : ROOM_MAX - room;
}

int columns_grow_file(struct columns *c)
{
	struct columns_file *f = c->file;
	struct columns_group g = { .offset = f->end, .first = c->room };
	struct column columns[COLUMN_COUNT];
	uint64_t size;
	int error;

	g.count = next_group(c->room);
	size = (uint64_t)g.count * columns_row_size();
	if (f->group_count == COLUMNS_GROUPS || !g.count)
		return -EFBIG;
	error = scratch_reserve(f->fd, f->end, size);
	if (error)
		return error;
	list(c, columns);
	/* Columns that were extended before one that could not be are larger than they need to be:
	 * what is beyond c->room of them is lost address space, no more. */
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		if (!extend(&columns[i], f, &g, c->room))
			return -ENOMEM;
	f->groups[f->group_count++] = g;
	f->end += aligned(size);
	c->room += g.count;
	columns_write_ahead(c);
	return 0;
}

static void unmap_all(const struct column *columns, uint8_t *const *bases, uint32_t room)
{
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		if (bases[i])
			munmap(bases[i], (size_t)room * columns[i].element);
}

/* New ranges for all columns, mapped from the groups of a file. */
static int map_all(const struct column *columns, const struct columns_file *f, uint32_t room,
		   int protection, uint8_t **bases)
{
	memset(bases, 0, COLUMN_COUNT * sizeof(*bases));
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		bases[i] = reserve((size_t)room * columns[i].element);
		for (uint32_t k = 0; bases[i] && k < f->group_count; k++) {
			if (map_piece(&columns[i], bases[i], f->fd, &f->groups[k], protection))
				continue;
			unmap_all(columns, bases, room);
			return -ENOMEM;
		}
		if (!bases[i]) {
			unmap_all(columns, bases, room);
			return -ENOMEM;
		}
	}
	return 0;
}

int columns_to_file(struct columns *c, int fd)
{
	uint32_t rows = (c->count + COLUMNS_UNIT - 1) & ~(COLUMNS_UNIT - 1);
	struct columns_group g = { .offset = COLUMNS_ALIGN, .count = rows ? rows : COLUMNS_UNIT };
	struct columns_file *f = xcalloc(1, sizeof(*f));
	struct column columns[COLUMN_COUNT];
	uint8_t *bases[COLUMN_COUNT];
	uint64_t size = (uint64_t)g.count * columns_row_size();
	int error = scratch_reserve(fd, 0, g.offset + size);

	list(c, columns);
	f->fd = fd;
	f->end = g.offset + aligned(size);
	f->groups[0] = g;
	f->group_count = 1;
	for (unsigned i = 0; i < COLUMN_COUNT && !error; i++)
		error = write_at(fd, *columns[i].data, c->count * columns[i].element,
				 g.offset + (uint64_t)g.count * columns[i].before);
	if (!error)
		error = map_all(columns, f, g.count, PROT_READ | PROT_WRITE, bases);
	if (error) {
		free(f);
		return error;
	}
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		pages_free(*columns[i].data, c->room * columns[i].element);
		*columns[i].data = bases[i];
		expect_anything(bases[i], g.count * columns[i].element);
	}
	f->memory = memory_limit();
	c->file = f;
	c->room = g.count;
	return 0;
}

void columns_keep_file(struct columns *c, int fd, uint64_t end)
{
	c->file = xcalloc(1, sizeof(*c->file));
	c->file->fd = fd;
	c->file->end = aligned(end);
}

int columns_write_packed(struct columns *c, int fd)
{
	const struct columns_packed *p = c->packed;
	int error = scratch_reserve(fd, 0, COLUMNS_ALIGN + aligned(p->used));

	if (!error)
		error = write_at(fd, p->groups.bytes, p->used, COLUMNS_ALIGN);
	if (!error)
		columns_keep_file(c, fd, COLUMNS_ALIGN + p->used);
	return error;
}

/* Every row once, and nothing that leads outside. */
static bool are_good(const struct row_group *groups, const struct columns_place *place,
		     uint32_t count)
{
	uint32_t rows = 1u << place->group_bits, left = count;

	for (uint32_t i = 0; i < place->group_count; i++) {
		if (!packed_is_good(&groups[i], place->used, rows) ||
		    groups[i].rows != (left < rows ? left : rows))
			return false;
		left -= groups[i].rows;
	}
	return !left;
}

int columns_map_packed(struct columns *c, int fd, uint64_t file_size,
		       const struct columns_place *place, uint32_t count)
{
	uint64_t table = (uint64_t)place->group_count * sizeof(struct row_group);
	struct columns_packed *p;
	void *bytes, *groups;

	if (place->group_bits > PACKED_BITS_MAX || count > COLUMNS_MAX ||
	    place->offset % COLUMNS_ALIGN || place->table_offset % COLUMNS_ALIGN ||
	    place->offset > file_size || !place->used || place->used > file_size - place->offset ||
	    place->table_offset > file_size || table > file_size - place->table_offset)
		return -EINVAL;
	bytes = mmap(NULL, place->used, PROT_READ, MAP_SHARED, fd, (off_t)place->offset);
	groups = NULL;
	if (table)
		groups = mmap(NULL, table, PROT_READ, MAP_SHARED, fd, (off_t)place->table_offset);
	if (bytes == MAP_FAILED || groups == MAP_FAILED || !are_good(groups, place, count)) {
		if (bytes != MAP_FAILED)
			munmap(bytes, place->used);
		if (groups != MAP_FAILED)
			pages_free(groups, table);
		return -EINVAL;
	}
	p = xcalloc(1, sizeof(*p));
	p->groups = (struct row_groups){ bytes, groups, place->group_count, place->group_bits };
	p->used = p->bytes_size = place->used;
	p->groups_size = table;
	c->packed = p;
	c->count = c->room = count;
	columns_keep_file(c, fd, file_size);
	return 0;
}

int columns_reserve(struct columns *c, uint64_t size)
{
	int error = scratch_reserve(c->file->fd, c->file->end, aligned(size));

	if (!error)
		c->file->end += aligned(size);
	return error;
}

void *columns_section(struct columns *c, uint64_t size, uint64_t *ret_offset)
{
	uint64_t offset = c->file ? c->file->end : 0;
	void *p;

	if (!c->file || !size || columns_reserve(c, size) < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->file->fd, (off_t)offset);
	if (p == MAP_FAILED)
		return NULL;
	*ret_offset = offset;
	return p;
}

/* Whole, one behind the other, and within the file? */
static bool groups_are_good(const struct columns_group *groups, uint32_t count, uint64_t file_size,
			    uint32_t *ret_room)
{
	uint64_t room = 0;

	if (!count || count > COLUMNS_GROUPS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct columns_group *g = &groups[i];
		uint64_t size = (uint64_t)g->count * columns_row_size();

		if (g->first != room || !g->count || g->count % COLUMNS_UNIT ||
		    g->offset % COLUMNS_ALIGN || g->offset > file_size ||
		    size > file_size - g->offset)
			return false;
		room += g->count;
	}
	if (room > ROOM_MAX)
		return false;
	*ret_room = (uint32_t)room;
	return true;
}

int columns_map(struct columns *c, int fd, uint64_t file_size, const struct columns_group *groups,
		uint32_t group_count, uint32_t count)
{
	struct columns_file *f;
	struct column columns[COLUMN_COUNT];
	uint8_t *bases[COLUMN_COUNT];
	uint32_t room;
	int error;

	if (!groups_are_good(groups, group_count, file_size, &room) || count > room ||
	    count > COLUMNS_MAX)
		return -EINVAL;
	f = xcalloc(1, sizeof(*f));
	f->fd = fd;
	f->end = file_size;
	memcpy(f->groups, groups, group_count * sizeof(*groups));
	f->group_count = group_count;
	list(c, columns);
	error = map_all(columns, f, room, PROT_READ, bases);
	if (error) {
		free(f);
		return error;
	}
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		*columns[i].data = bases[i];
	c->file = f;
	c->room = room;
	c->count = count;
	return 0;
}

/* The pieces of rows [from, to) of one group. */
static void send_rows(const struct columns_file *f, const struct column *columns,
		      const struct columns_group *g, uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		sync_file_range(f->fd,
				(off_t)(g->offset + (uint64_t)g->count * columns[i].before +
					(uint64_t)(from - g->first) * columns[i].element),
				(off_t)((uint64_t)(to - from) * columns[i].element),
				SYNC_FILE_RANGE_WRITE);
}

void columns_write_behind(struct columns *c)
{
	struct columns_file *f = c->file;
	struct column columns[COLUMN_COUNT];
	uint32_t to;

	if (!f || f->end < f->memory / WRITE_BEYOND || c->count < f->written + 2 * WRITE_ROWS)
		return;
	to = c->count - WRITE_ROWS;
	list(c, columns);
	for (uint32_t i = 0; i < f->group_count; i++) {
		const struct columns_group *g = &f->groups[i];
		uint32_t from = f->written > g->first ? f->written : g->first;
		uint32_t end = to < g->first + g->count ? to : g->first + g->count;

		if (from < end)
			send_rows(f, columns, g, from, end);
	}
	f->written = to;
}

void columns_trim(struct columns *c)
{
	struct columns_file *f = c->file;
	struct columns_group *g = &f->groups[f->group_count - 1];
	struct column columns[COLUMN_COUNT];

	list(c, columns);
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		madvise(*columns[i].data, (size_t)c->room * columns[i].element, MADV_NORMAL);
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		uint64_t piece = g->offset + (uint64_t)g->count * columns[i].before;
		uint64_t used = c->count > g->first
					? (uint64_t)(c->count - g->first) * columns[i].element
					: 0;
		uint64_t whole = (uint64_t)g->count * columns[i].element;

		/* Where it cannot be done, the file is somewhat larger. */
		if (aligned(used) < whole)
			(void)!fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					 (off_t)(piece + aligned(used)),
					 (off_t)(whole - aligned(used)));
	}
}

void columns_unmap(struct columns *c)
{
	struct column columns[COLUMN_COUNT];
	uint8_t *bases[COLUMN_COUNT];

	list(c, columns);
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		bases[i] = *columns[i].data;
		*columns[i].data = NULL;
	}
	unmap_all(columns, bases, c->room);
	close(c->file->fd);
	free(c->file);
	c->file = NULL;
}
