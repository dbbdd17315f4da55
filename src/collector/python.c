/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Python functions to names, files and lines.  See python.h.
 *
 * Records are the program's own memory, which may be broken: sizes are checked before use. */
#include "collector/python.h"

#include <sys/mman.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "collector/collector.h"
#include "collector/log.h"
#include "collector/naming.h"
#include "wire/python.h"

struct python_codes {
	const uint8_t *segment; /* the one that is being read */
	uint32_t segments, used;
	struct map at; /* records by number */
};

struct python_codes *python_codes_new(void)
{
	return xcalloc(1, sizeof(struct python_codes));
}

/* Segments stay mapped: records are read where they are. */
struct python_codes *python_codes_free(struct python_codes *p)
{
	if (!p)
		return NULL;
	map_release(&p->at);
	free(p);
	return NULL;
}

static bool next_segment(struct python_codes *p, const struct collector *c)
{
	uint32_t count =
		atomic_load_explicit(&c->control->python_segment_count, memory_order_acquire);
	uint64_t offset;
	void *m = MAP_FAILED;

	if (p->segments >= count || p->segments >= PYTHON_SEGMENTS_MAX)
		return false;
	offset = c->control->python_segment_offset[p->segments];
	if (offset % ARCH_PAGE_MAX == 0 && offset < SHM_FILE_SIZE - PYTHON_SEGMENT_SIZE)
		m = mmap(NULL, PYTHON_SEGMENT_SIZE, PROT_READ, MAP_SHARED, c->shm_fd,
			 (off_t)offset);
	if (m == MAP_FAILED) {
		log_line(LOG_ERROR, "names of Python functions cannot be mapped");
		return false;
	}
	p->segments++;
	p->segment = m;
	p->used = 0;
	return true;
}

/* Of a record that is complete; 0: there is none. */
static uint64_t record_size(const struct python_record *r, uint32_t room)
{
	uint64_t size = 8ull * atomic_load_explicit(&r->size, memory_order_acquire);

	if (size < sizeof(*r) || size > room ||
	    (uint64_t)r->name_size + r->file_size + r->lines_size > size - sizeof(*r))
		return 0;
	return size;
}

void python_codes_read(struct python_codes *p, const struct collector *c)
{
	for (;;) {
		uint32_t room = p->segment ? PYTHON_SEGMENT_SIZE - p->used : 0;
		const struct python_record *r = room ? (const void *)(p->segment + p->used) : NULL;
		uint64_t size = room >= sizeof(*r) ? record_size(r, room) : 0;

		if (size) {
			map_set(&p->at, r->number, (uint64_t)(uintptr_t)r);
			p->used += (uint32_t)size;
		} else if (!next_segment(p, c)) {
			return;
		}
	}
}

static bool get_number(const uint8_t **p, const uint8_t *end, uint32_t *ret_value)
{
	unsigned shift = 0;
	uint8_t byte;

	*ret_value = 0;
	do {
		if (*p == end || shift > 24)
			return false;
		byte = *(*p)++;
		*ret_value |= (uint32_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return true;
}

/* Entries for stretches of instructions: a byte with bit 7 set has the kind of the entry in bits 3
 * to 6 and the length of the stretch less one below; what follows depends on the kind.  The kinds
 * that change the line do it by a difference, of the long ones a signed number of six bits a byte,
 * the sign in its lowest bit. */
enum {
	LINE_SAME_MOST = 9,
	LINE_ONE = 10,
	LINE_TWO,
	LINE_AFTER_NEXT,
	LINE_ALONE,
	LINE_LONG,
	LINE_NONE
};

uint32_t python_line(const uint8_t *table, size_t size, uint32_t first_line, uint32_t place)
{
	const uint8_t *p = table, *end = table + size;
	uint64_t line = first_line, at = 0;

	while (p < end) {
		unsigned kind = *p >> 3 & 15, length = (*p & 7) + 1u;
		uint32_t value = 0;

		p++;
		if (kind >= LINE_ONE && kind <= LINE_AFTER_NEXT) {
			line += kind - LINE_ONE;
		} else if (kind == LINE_ALONE || kind == LINE_LONG) {
			if (!get_number(&p, end, &value))
				return first_line;
			line += value & 1 ? -(uint64_t)(value >> 1) : value >> 1;
		}
		at += length;
		if (place < at)
			return kind == LINE_NONE ? first_line : (uint32_t)line;
		while (p < end && !(*p & 128))
			p++;
	}
	return first_line;
}

void python_codes_name(struct python_codes *p, struct collector *c, uint64_t address)
{
	uint32_t code = (uint32_t)((address & PYTHON_REST_MASK) >> PYTHON_PLACE_BITS);
	const struct python_record *r;
	uint64_t found;

	if (!map_get(&p->at, code, &found)) {
		naming_meet(c->naming, address);
		return;
	}
	r = (const void *)(uintptr_t)found;

	const uint8_t *file = r->bytes + r->name_size, *lines = file + r->file_size;
	auto_free char *name = xmemdup0(r->bytes, r->name_size);
	auto_free char *path = xmemdup0(file, r->file_size);

	naming_add(c->naming, address, name, name, path,
		   python_line(lines, r->lines_size, r->first_line,
			       (uint32_t)address & PYTHON_PLACE_MASK));
}
