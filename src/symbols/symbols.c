/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules, opened when needed, and addresses, resolved once.  See symbols.h. */
#include "symbols/symbols.h"

#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "symbols/image.h"
#include "symbols/lines.h"
#include "symbols/names.h"

struct loaded {
	bool opened, indexed;
	struct image image;
	struct names names;
	struct lines lines;
	struct map cache; /* address to position in symbols.resolved */
};

struct symbols {
	const struct symbols_module *modules;
	struct loaded *loaded;
	size_t count;
	symbols_embedded embedded;
	void *context;
	struct symbol **resolved;
	size_t resolved_count, resolved_room;
};

struct symbols *symbols_new(const struct symbols_module *modules, size_t count,
			    symbols_embedded embedded, void *context)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->modules = modules;
	s->count = count;
	s->loaded = xcalloc(count, sizeof(*s->loaded));
	s->embedded = embedded;
	s->context = context;
	return s;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++) {
		struct loaded *l = &s->loaded[i];

		map_release(&l->cache);
		lines_release(&l->lines);
		names_release(&l->names);
		if (l->opened)
			image_release(&l->image);
	}
	for (size_t i = 0; i < s->resolved_count; i++) {
		struct symbol *symbol = s->resolved[i];

		for (unsigned k = 0; k < symbol->count; k++) {
			free(symbol->frames[k].function);
			free(symbol->frames[k].raw_function);
			free(symbol->frames[k].file);
		}
		free(symbol->frames);
		free(symbol);
	}
	free(s->resolved);
	free(s->loaded);
	free(s);
	return NULL;
}

static struct loaded *open_module(struct symbols *s, size_t module)
{
	struct loaded *l = &s->loaded[module];

	if (!l->opened) {
		image_open(&l->image, &s->modules[module], s->embedded, s->context);
		names_read(&l->names, l->image.debug, l->image.elf);
		l->opened = true;
	}
	return l;
}

enum symbols_level symbols_level(struct symbols *s, size_t module)
{
	enum symbols_level level;
	struct image image;

	if (module >= s->count)
		return SYMBOLS_NONE;
	if (s->loaded[module].opened)
		return image_level(&s->loaded[module].image);
	image_open(&image, &s->modules[module], s->embedded, s->context);
	level = image_level(&image);
	image_release(&image);
	return level;
}

static void resolve(struct loaded *l, uint64_t address, struct symbol *out)
{
	struct symbol_frame *last;
	const char *name;

	if (!l->indexed) {
		lines_read(&l->lines, image_dwarf(&l->image));
		l->indexed = true;
	}
	if (!lines_find(&l->lines, address, out)) {
		out->count = 1;
		out->frames = xcalloc(1, sizeof(*out->frames));
	}
	last = &out->frames[out->count - 1];
	name = last->function ? NULL : names_find(&l->names, address);
	if (name) {
		last->function = demangle(name);
		last->raw_function = xstrdup(name);
	}
}

const struct symbol *symbols_resolve(struct symbols *s, size_t module, uint64_t address)
{
	static struct symbol_frame nothing;
	static const struct symbol unknown = { &nothing, 1 };
	struct loaded *l;
	struct symbol *symbol;
	uint64_t i;

	if (module >= s->count)
		return &unknown;
	l = open_module(s, module);
	if (map_get(&l->cache, address, &i))
		return s->resolved[i];
	symbol = xcalloc(1, sizeof(*symbol));
	resolve(l, address, symbol);
	map_set(&l->cache, address, s->resolved_count);
	s->resolved = xgrow(s->resolved, s->resolved_count, &s->resolved_room, sizeof(void *));
	s->resolved[s->resolved_count++] = symbol;
	return symbol;
}
