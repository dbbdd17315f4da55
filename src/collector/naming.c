/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of code that is in no file.  See naming.h. */
#include "collector/naming.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/path.h"
#include "base/strings.h"
#include "base/xalloc.h"
#include "collector/collector.h"
#include "collector/perf_map.h"
#include "wire/symbols.h"

#define MAPS_EVERY_NS 200000000u
#define ADDRESSES_MAX (1u << 20) /* beyond that they stay addresses */

struct naming {
	struct collector *collector;
	struct perf_map map;
	struct map seen;		/* addresses that were met or named */
	struct perf_map_wanted *wanted; /* met, and without a name so far */
	size_t wanted_count, wanted_room, looked_for, kinds_looked_for;
	uint64_t maps_read_ns;
	struct strings kinds;	   /* of what is mapped where there is no module */
	struct strings inherited;  /* texts of the parent's recording, */
	uint32_t *inherited_texts; /* in the order in which it has them, */
	size_t inherited_text_count, inherited_text_room;
	struct symbols_line *inherited_lines; /* and what it calls places, */
	size_t inherited_line_count, inherited_line_room;
	struct map inherited_at; /* by address */
	const char *engine;	 /* that makes code in this program; NULL: none, or several */
	bool engines;
	struct strings texts; /* their numbers are the file's */
	struct buf chunk;
	uint64_t last; /* address of the location before in the chunk */
};

/* Files that make code: the beginning of a file's name, and what they are called. */
static const struct {
	const char *file, *name;
} engines[] = {
	{ "node", "node" },
	{ "libnode.so", "node" },
	{ "libv8", "V8" },
	{ "chrom", "V8" },
	{ "libjvm.so", "Java" },
	{ "luajit", "LuaJIT" },
	{ "libluajit", "LuaJIT" },
	{ "libcoreclr.so", ".NET" },
	{ "libclrjit.so", ".NET" },
	{ "libmono", "Mono" },
	{ "libmozjs", "SpiderMonkey" },
	{ "libjavascriptcoregtk", "JavaScriptCore" },
	{ "libpcre", "PCRE" },
	{ "libQt5Qml", "QML" },
	{ "libQt6Qml", "QML" },
	{ "libLLVM", "LLVM" },
	{ "beam.smp", "BEAM" },
	{ "ruby", "Ruby" },
	{ "libruby", "Ruby" },
	{ "php", "PHP" },
	{ "pypy", "PyPy" },
	{ "libpypy", "PyPy" },
};

struct naming *naming_new(struct collector *c)
{
	struct naming *n = xcalloc(1, sizeof(*n));

	n->collector = c;
	perf_map_init(&n->map);
	strings_init(&n->texts);
	strings_init(&n->inherited);
	strings_init(&n->kinds);
	return n;
}

struct naming *naming_free(struct naming *n)
{
	if (!n)
		return NULL;
	perf_map_release(&n->map);
	map_release(&n->seen);
	strings_release(&n->texts);
	strings_release(&n->inherited);
	strings_release(&n->kinds);
	map_release(&n->inherited_at);
	free(n->inherited_texts);
	free(n->inherited_lines);
	buf_release(&n->chunk);
	free(n->wanted);
	free(n);
	return NULL;
}

static bool is_new(struct naming *n, uint64_t address)
{
	uint64_t value;

	return map_number(&n->seen, address, &value);
}

void naming_module(struct naming *n, const char *path)
{
	const char *base = path_base(path);

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (strncmp(base, engines[i].file, strlen(engines[i].file)) != 0)
			continue;
		/* Which of two has made a piece of code is not known. */
		if (n->engines && (!n->engine || strcmp(n->engine, engines[i].name) != 0))
			n->engine = NULL;
		else
			n->engine = engines[i].name;
		n->engines = true;
		return;
	}
}

static uint32_t text_number(struct naming *n, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	uint8_t head[SYMBOLS_HEAD_MAX];
	uint32_t before = strings_count(&n->texts), id;

	if (!size || size > SYMBOLS_TEXT_MAX)
		return 0;
	id = strings_add(&n->texts, text);
	if (id == before) {
		buf_add(&n->chunk, head, (size_t)(symbols_put_text(head, size) - head));
		buf_add(&n->chunk, text, size);
	}
	return id;
}

void naming_write(struct naming *n)
{
	if (n->chunk.size)
		recording_write(&n->collector->recording, CHUNK_SYMBOLS, EFFORT_REST, n->chunk.data,
				n->chunk.size, 0);
	buf_clear(&n->chunk);
	n->last = 0;
}

static void put_location(struct naming *n, uint64_t address, const char *function,
			 const char *raw_function, const char *file, uint32_t line)
{
	struct symbols_location location = { .address = address, .count = 1 };
	/* Texts before the location that uses them. */
	struct symbols_line frame = { .function = text_number(n, function),
				      .raw_function = text_number(n, raw_function),
				      .file = text_number(n, file),
				      .line = line };
	uint8_t bytes[SYMBOLS_HEAD_MAX + SYMBOLS_LINE_MAX];
	uint8_t *end = symbols_put_location(bytes, &location, n->last);

	end = symbols_put_line(end, &frame);
	buf_add(&n->chunk, bytes, (size_t)(end - bytes));
	n->last = address;
	/* The writer's room is that of the largest payload. */
	if (n->chunk.size > n->collector->payload.room - 4 * SYMBOLS_TEXT_MAX)
		naming_write(n);
}

void naming_add(struct naming *n, uint64_t address, const char *function, const char *raw_function,
		const char *file, uint32_t line)
{
	if (is_new(n, address))
		put_location(n, address, function, raw_function, file, line);
}

static const char *inherited_text(const struct naming *n, uint32_t number)
{
	return strings_at(&n->inherited, number ? n->inherited_texts[number - 1] : 0);
}

static bool is_inherited(struct naming *n, uint64_t address)
{
	const struct symbols_line *l;
	uint64_t i;

	if (!map_get(&n->inherited_at, address, &i))
		return false;
	l = &n->inherited_lines[i];
	put_location(n, address, inherited_text(n, l->function), inherited_text(n, l->raw_function),
		     inherited_text(n, l->file), l->line);
	return true;
}

void naming_meet(struct naming *n, uint64_t address)
{
	if (n->wanted_count >= ADDRESSES_MAX || !is_new(n, address) || is_inherited(n, address))
		return;
	*xpush(n->wanted, n->wanted_count, n->wanted_room) =
		(struct perf_map_wanted){ .address = address };
}

static void inherit_text(struct naming *n, const char *text, size_t size)
{
	auto_free char *copy = xmemdup0(text, size);

	*xpush(n->inherited_texts, n->inherited_text_count, n->inherited_text_room) =
		strings_add(&n->inherited, copy);
}

/* Of a place in no module, the first line: code that is in no file has no other. */
static bool inherit_location(struct naming *n, const uint8_t **p, const uint8_t *end,
			     uint64_t *last)
{
	struct symbols_location location;
	struct symbols_line line;

	if (!symbols_get_location(p, end, *last, &location))
		return false;
	*last = location.address;
	for (uint32_t i = 0; i < location.count; i++) {
		if (!symbols_get_line(p, end, (uint32_t)n->inherited_text_count + 1, &line))
			return false;
		if (i || location.module)
			continue;
		map_set(&n->inherited_at, location.address, n->inherited_line_count);
		*xpush(n->inherited_lines, n->inherited_line_count, n->inherited_line_room) = line;
	}
	return true;
}

bool naming_inherit(struct naming *n, const uint8_t *payload, size_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	uint64_t last = 0, kind;
	const char *text;
	size_t text_size;

	while (p < end) {
		if (!symbols_get_kind(&p, end, &kind) || n->inherited_text_count >= UINT32_MAX / 2)
			return false;
		if (kind == SYMBOLS_TEXT && symbols_get_text(&p, end, &text, &text_size))
			inherit_text(n, text, text_size);
		else if (kind != SYMBOLS_LOCATION || !inherit_location(n, &p, end, &last))
			return false;
	}
	return true;
}

static void put_found(struct naming *n, const struct perf_map_wanted *w)
{
	struct perf_map_name name;

	perf_map_name(w->name, w->name_size, &name);
	put_location(n, w->address, name.function, name.raw, name.file[0] ? name.file : NULL,
		     name.line);
}

/* Where nothing is known to be mapped, nothing is said either: the walk may have gone astray. */
static uint32_t kind_at(struct naming *n, uint64_t address)
{
	const struct mapping *m = maps_find(&n->collector->maps, address);
	char text[80];

	if (!m || !m->executable)
		return 0;
	if (!m->inode && m->path[0] != '/')
		return strings_add(&n->kinds, "[anon exec]");
	snprintf(text, sizeof(text), "[%.60s]", path_base(m->path));
	return strings_add(&n->kinds, text);
}

static size_t find_kinds(struct naming *n, size_t first)
{
	size_t missing = 0;

	for (size_t i = first; i < n->wanted_count; i++) {
		if (!n->wanted[i].kind)
			n->wanted[i].kind = kind_at(n, n->wanted[i].address);
		missing += !n->wanted[i].kind;
	}
	return missing;
}

void naming_look_at_kinds(struct naming *n)
{
	struct collector *c = n->collector;
	size_t first = n->kinds_looked_for;

	/* Since the last time nothing was met, or it was a moment ago. */
	if (first == n->wanted_count || !find_kinds(n, first) ||
	    c->now_ns - n->maps_read_ns < MAPS_EVERY_NS)
		return;
	n->maps_read_ns = c->now_ns;
	n->kinds_looked_for = n->wanted_count;
	modules_poll(c);
	if (collector_owns(c, &c->maps))
		find_kinds(n, first);
}

void naming_look(struct naming *n)
{
	size_t left = 0;

	naming_look_at_kinds(n);
	if (n->wanted_count &&
	    perf_map_read(&n->map, n->collector, n->wanted_count > n->looked_for)) {
		perf_map_find(&n->map, n->wanted, n->wanted_count);
		for (size_t i = 0; i < n->wanted_count; i++) {
			if (n->wanted[i].name)
				put_found(n, &n->wanted[i]);
			else
				n->wanted[left++] = n->wanted[i];
		}
		n->wanted_count = left;
	}
	n->looked_for = n->kinds_looked_for = n->wanted_count;
	naming_write(n);
}

/* The address behind it keeps different places apart. */
static void put_kind(struct naming *n, const struct perf_map_wanted *w)
{
	const char *kind = strings_at(&n->kinds, w->kind);
	char made[64], text[160];

	if (!w->kind)
		return;
	if (n->engine && !strcmp(kind, "[anon exec]")) {
		snprintf(made, sizeof(made), "[JIT %s]", n->engine);
		kind = made;
	}
	snprintf(text, sizeof(text), "%s+0x%llx", kind, (unsigned long long)w->address);
	put_location(n, w->address, text, text, NULL, 0);
}

void naming_look_once_more(struct naming *n)
{
	if (n->wanted_count)
		n->maps_read_ns = 0;
	naming_look(n);
}

void naming_finish(struct naming *n)
{
	naming_look(n);
	for (size_t i = 0; i < n->wanted_count; i++)
		put_kind(n, &n->wanted[i]);
	n->wanted_count = 0;
	naming_write(n);
}
