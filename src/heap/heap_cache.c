/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names in a file.  See heap_cache.h.
 *
 *	head | location (address, frames) … by address | frames … | texts, each with its NUL
 *
 * The name of a file ends as that of a recording's locations does, so cache_dir_tidy() knows it. */
#include "heap/heap_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "model/cache_format.h"

#define MAGIC 0x70616568736d656dull
#define VERSION 1u
#define SIZE_MAX_BYTES (256u << 20)
#define LOCATIONS_MAX (1u << 20) /* beyond it, what was there is dropped */
#define FRAMES_MAX 256u		 /* of one location */

struct head {
	uint64_t magic;
	uint32_t version, locations, frames, strings;
	uint64_t text_size;
	uint64_t sum; /* XXH3 of everything behind the head */
};

struct stored_location {
	uint64_t address;
	uint32_t frame, frame_count;
};

struct stored_frame {
	uint32_t function, raw_function, file; /* texts; 0: not known */
	uint32_t line, column, inlined;
};

struct added {
	uint64_t address;
	const struct symbol *symbol;
};

struct heap_cache {
	int dir;
	uint64_t limit;
	char name[CACHE_NAME_MAX];
	/* What the file had; all zero without one. */
	struct head head;
	uint8_t *bytes;
	const struct stored_location *locations;
	const struct stored_frame *frames;
	const char **texts;
	struct added *added;
	size_t added_count, added_room;
};

static uint64_t size_of(const struct head *h)
{
	return sizeof(struct stored_location) * (uint64_t)h->locations +
	       sizeof(struct stored_frame) * (uint64_t)h->frames + h->text_size;
}

static bool take_texts(struct heap_cache *c, const char *texts)
{
	const char *at = texts, *end = texts + c->head.text_size;

	if (!c->head.strings || c->head.strings > c->head.text_size || end[-1])
		return false;
	c->texts = xcalloc(c->head.strings, sizeof(*c->texts));
	for (uint32_t i = 0; i < c->head.strings; i++) {
		if (at >= end)
			return false;
		c->texts[i] = at;
		at += strlen(at) + 1;
	}
	return at == end;
}

static bool is_right(const struct heap_cache *c)
{
	for (uint32_t i = 0; i < c->head.locations; i++) {
		const struct stored_location *p = &c->locations[i];

		if (!p->frame_count || p->frame_count > FRAMES_MAX ||
		    p->frame_count > c->head.frames || p->frame > c->head.frames - p->frame_count ||
		    (i && p->address <= p[-1].address))
			return false;
	}
	for (uint32_t i = 0; i < c->head.frames; i++) {
		const struct stored_frame *f = &c->frames[i];

		if (f->function >= c->head.strings || f->raw_function >= c->head.strings ||
		    f->file >= c->head.strings)
			return false;
	}
	return true;
}

static bool read_file(struct heap_cache *c, int fd)
{
	struct head *h = &c->head;
	struct stat st;
	uint64_t size;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    !read_at(fd, h, sizeof(*h), 0) || h->magic != MAGIC || h->version != VERSION ||
	    h->text_size > SIZE_MAX_BYTES)
		return false;
	size = size_of(h);
	if (size > SIZE_MAX_BYTES || (uint64_t)st.st_size != sizeof(*h) + size || !h->text_size)
		return false;
	c->bytes = xmalloc(size);
	if (!read_at(fd, c->bytes, size, sizeof(*h)) || XXH3_64bits(c->bytes, size) != h->sum)
		return false;
	c->locations = (const struct stored_location *)c->bytes;
	c->frames = (const struct stored_frame *)(c->locations + h->locations);
	return take_texts(c, (const char *)(c->frames + h->frames)) && is_right(c);
}

struct heap_cache *heap_cache_open(const struct cache_options *o, uint64_t stamp)
{
	struct heap_cache *c;
	int dir, fd;

	if (!o || !o->dir || !stamp)
		return NULL;
	dir = cache_dir_open(o->dir, true);
	if (dir < 0)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->dir = dir;
	c->limit = o->limit;
	snprintf(c->name, sizeof(c->name), "heap-%016" PRIx64 "-%016" PRIx64 ".places", stamp,
		 cache_build());
	fd = cache_dir_find(dir, c->name);
	if (fd < 0)
		return c;
	if (!read_file(c, fd)) /* as if there were none */
		c->head = (struct head){ 0 };
	close(fd);
	return c;
}

static char *copy_of(const struct heap_cache *c, uint32_t text)
{
	return text ? xstrdup(c->texts[text]) : NULL;
}

bool heap_cache_find(const struct heap_cache *c, uint64_t address, struct symbol *ret)
{
	size_t low = FIRST_WHERE(i, c->head.locations, c->locations[i].address >= address);

	if (low == c->head.locations || c->locations[low].address != address)
		return false;
	ret->count = c->locations[low].frame_count;
	ret->frames = xcalloc(ret->count, sizeof(*ret->frames));
	for (unsigned i = 0; i < ret->count; i++) {
		const struct stored_frame *f = &c->frames[c->locations[low].frame + i];

		ret->frames[i] = (struct symbol_frame){
			.function = copy_of(c, f->function),
			.raw_function = copy_of(c, f->raw_function),
			.file = copy_of(c, f->file),
			.line = f->line,
			.column = f->column,
			.inlined = f->inlined,
		};
	}
	return true;
}

void heap_cache_add(struct heap_cache *c, uint64_t address, const struct symbol *s)
{
	if (!s->count || s->count > FRAMES_MAX)
		return;
	*xpush(c->added, c->added_count, c->added_room) = (struct added){ address, s };
}

ORDER(by_address, struct added, RISING(address))

/* What is to be written, as it grows. */
struct packing {
	struct buf locations, frames;
	struct strings strings;
	uint32_t frame_count, location_count;
};

static void pack_location(struct packing *p, uint64_t address, const struct symbol *s)
{
	struct stored_location location = { address, p->frame_count, s->count };

	for (unsigned i = 0; i < s->count; i++) {
		const struct symbol_frame *from = &s->frames[i];
		struct stored_frame f = {
			.function = strings_add(&p->strings, from->function),
			.raw_function = strings_add(&p->strings, from->raw_function),
			.file = strings_add(&p->strings, from->file),
			.line = from->line,
			.column = from->column,
			.inlined = from->inlined,
		};

		buf_add(&p->frames, &f, sizeof(f));
	}
	buf_add(&p->locations, &location, sizeof(location));
	p->frame_count += s->count;
	p->location_count++;
}

/* Both are sorted; of an address that is in both, the new one counts. */
static void pack_all(struct heap_cache *c, struct packing *p)
{
	uint32_t old = c->head.locations + c->added_count > LOCATIONS_MAX ? c->head.locations : 0;

	for (size_t i = 0; i < c->added_count || old < c->head.locations;) {
		bool is_old =
			old < c->head.locations &&
			(i == c->added_count || c->locations[old].address < c->added[i].address);
		struct symbol s = { 0 };

		if (is_old) {
			heap_cache_find(c, c->locations[old].address, &s);
			pack_location(p, c->locations[old++].address, &s);
			symbol_release(&s);
			continue;
		}
		if (old < c->head.locations && c->locations[old].address == c->added[i].address)
			old++;
		if (!i || c->added[i].address != c->added[i - 1].address)
			pack_location(p, c->added[i].address, c->added[i].symbol);
		i++;
	}
}

static void pack(struct heap_cache *c, struct buf *out)
{
	struct packing p = { 0 };
	struct head h = { .magic = MAGIC, .version = VERSION }, *head;

	strings_init(&p.strings);
	pack_all(c, &p);
	h.locations = p.location_count;
	h.frames = p.frame_count;
	h.strings = strings_count(&p.strings);
	buf_add(out, &h, sizeof(h));
	buf_add(out, p.locations.data, p.locations.size);
	buf_add(out, p.frames.data, p.frames.size);
	for (uint32_t i = 0; i < h.strings; i++) {
		const char *text = strings_at(&p.strings, i);

		buf_add(out, text, strlen(text) + 1);
		h.text_size += strlen(text) + 1;
	}
	h.sum = XXH3_64bits(out->data + sizeof(h), out->size - sizeof(h));
	head = (struct head *)out->data;
	*head = h;
	strings_release(&p.strings);
	buf_release(&p.locations);
	buf_release(&p.frames);
}

static void write_file(struct heap_cache *c)
{
	auto_buf struct buf out = { 0 };

	pack(c, &out);
	if (out.size <= SIZE_MAX_BYTES)
		cache_dir_put(c->dir, c->name, &out, c->limit);
}

struct heap_cache *heap_cache_close(struct heap_cache *c)
{
	if (!c)
		return NULL;
	SORT(c->added, c->added_count, by_address);
	if (c->added_count)
		write_file(c);
	close(c->dir);
	free(c->texts);
	free(c->bytes);
	free(c->added);
	free(c);
	return NULL;
}
