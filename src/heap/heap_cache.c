/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names in a file.  See heap_cache.h. */
#include "heap/heap_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/xalloc.h"
#include "model/cache_format.h"
#include "symbols/names_file.h"

#define LOCATIONS_MAX (1u << 20) /* beyond it, what was there is dropped */

struct added {
	uint64_t address;
	const struct symbol *symbol;
};

struct heap_cache {
	int dir;
	uint64_t limit;
	char name[CACHE_NAME_MAX];
	struct names_file file; /* locations by address */
	struct added *added;
	size_t added_count, added_room;
};

struct heap_cache *heap_cache_open(const struct cache_options *o, uint64_t stamp)
{
	struct heap_cache *c;
	int dir;

	if (!o || !o->dir || !stamp)
		return NULL;
	dir = cache_dir_open(o->dir, true);
	if (dir < 0)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->dir = dir;
	c->limit = o->limit;
	snprintf(c->name, sizeof(c->name), "heap-%016" PRIx64 "-%016" PRIx64 NAMES_FILE_SUFFIX,
		 stamp, cache_build());
	names_file_read(&c->file, dir, c->name);
	return c;
}

static char *copy_of(const struct heap_cache *c, uint32_t text)
{
	return text ? xstrdup(c->file.texts[text]) : NULL;
}

bool heap_cache_find(const struct heap_cache *c, uint64_t address, struct symbol *ret)
{
	const struct names_file *f = &c->file;
	size_t low = FIRST_WHERE(i, f->location_count, f->locations[i].address >= address);

	if (low == f->location_count || f->locations[low].address != address ||
	    !f->locations[low].count)
		return false;
	ret->count = f->locations[low].count;
	ret->frames = xcalloc(ret->count, sizeof(*ret->frames));
	for (unsigned i = 0; i < ret->count; i++) {
		const struct symbols_line *l = &f->lines[f->locations[low].first + i];

		ret->frames[i] = (struct symbol_frame){
			.function = copy_of(c, l->function),
			.raw_function = copy_of(c, l->raw_function),
			.file = copy_of(c, l->file),
			.line = l->line,
			.column = l->column,
			.inlined = l->inlined,
		};
	}
	return true;
}

void heap_cache_add(struct heap_cache *c, uint64_t address, const struct symbol *s)
{
	if (!s->count || s->count > SYMBOLS_FRAMES_MAX)
		return;
	*xpush(c->added, c->added_count, c->added_room) = (struct added){ address, s };
}

ORDER(by_address, struct added, RISING(address))

static void pack_location(struct names_parts *p, struct strings *texts, uint64_t address,
			  const struct symbol *s)
{
	struct names_location location = {
		.address = address,
		.first = (uint32_t)(p->lines.size / sizeof(struct symbols_line)),
		.count = s->count,
	};

	buf_add(&p->locations, &location, sizeof(location));
	for (unsigned i = 0; i < s->count; i++) {
		const struct symbol_frame *from = &s->frames[i];
		struct symbols_line l = {
			.function = strings_add(texts, from->function),
			.raw_function = strings_add(texts, from->raw_function),
			.file = strings_add(texts, from->file),
			.line = from->line,
			.column = from->column,
			.inlined = from->inlined,
		};

		buf_add(&p->lines, &l, sizeof(l));
	}
}

/* Both are sorted; of an address that is in both, the new one counts. */
static void pack_all(struct heap_cache *c, struct names_parts *p, struct strings *texts)
{
	size_t keep = c->file.location_count;
	const struct names_location *old = c->file.locations, *end;

	if (keep + c->added_count > LOCATIONS_MAX)
		keep = 0;
	end = keep ? old + keep : old;
	for (size_t i = 0; i < c->added_count || old < end;) {
		bool is_old =
			old < end && (i == c->added_count || old->address < c->added[i].address);
		struct symbol s = { 0 };

		if (is_old) {
			heap_cache_find(c, old->address, &s);
			pack_location(p, texts, old++->address, &s);
			symbol_release(&s);
			continue;
		}
		if (old < end && old->address == c->added[i].address)
			old++;
		if (!i || c->added[i].address != c->added[i - 1].address)
			pack_location(p, texts, c->added[i].address, c->added[i].symbol);
		i++;
	}
}

static void write_file(struct heap_cache *c)
{
	struct strings texts;
	struct names_parts parts = { .texts = &texts };

	strings_init(&texts);
	pack_all(c, &parts, &texts);
	names_file_write(&parts, c->dir, c->name, c->limit);
	buf_release(&parts.locations);
	buf_release(&parts.lines);
	strings_release(&texts);
}

struct heap_cache *heap_cache_close(struct heap_cache *c)
{
	if (!c)
		return NULL;
	SORT(c->added, c->added_count, by_address);
	if (c->added_count)
		write_file(c);
	close(c->dir);
	names_file_release(&c->file);
	free(c->added);
	free(c);
	return NULL;
}
