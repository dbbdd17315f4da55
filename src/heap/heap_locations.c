/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Locations of dumps: modules from the maps, then addresses as the files count them, then names.
 *
 * Names are looked for on all cores, then put down by one thread in the order of the locations, so
 * that the result is the same every time. */
#include "heap/heap_locations.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/now.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "heap/heap_cache.h"
#include "heap/heap_files.h"
#include "heap/heap_known.h"
#include "symbols/symbols.h"

#define WORK 32		  /* locations that a worker takes at a time */
#define WORTH_NS 10000000 /* what took less is not worth a file */

static bool is_allocator(const char *path)
{
	static const char *const stems[] = { "libjemalloc", "libtcmalloc", "libmimalloc",
					     "libmemoir" };

	/* The agent allocates nothing for anybody; its thread is its own. */
	if (!strncmp(path_base(path), "libmemoir-jemalloc", strlen("libmemoir-jemalloc")))
		return false;
	return ANY(i, sizeof(stems) / sizeof(*stems),
		   !strncmp(path_base(path), stems[i], strlen(stems[i])));
}

void heap_locations_init(struct heap_locations *p, const struct heap_locations_options *options)
{
	*p = (struct heap_locations){ .options = *options, .main_module = HEAP_NO_MODULE };
	strings_init(&p->texts);
}

void heap_locations_release(struct heap_locations *p)
{
	for (size_t i = 0; i < p->module_count; i++)
		free(p->modules[i].file);
	for (size_t i = 0; i < p->warning_count; i++)
		free(p->warnings[i]);
	free(p->warnings);
	free(p->modules);
	free(p->locations);
	free(p->frames);
	map_release(&p->index);
	strings_release(&p->texts);
}

/* A file of the same name and another build id is another. */
static uint32_t module_of(struct heap_locations *p, const struct dump_map *map)
{
	auto_free char *both = xasprintf("%s\n%s", map->path, map->build_id);
	uint32_t key = strings_add(&p->texts, both);
	struct heap_locations_module *m;
	uint64_t at;

	/* Modules share the index with locations, whose keys have another highest bit. */
	if (map_get(&p->index, key | 1ull << 63, &at))
		return (uint32_t)at;
	p->modules = xgrow(p->modules, p->module_count, &p->module_room, sizeof(*p->modules));
	m = &p->modules[p->module_count];
	*m = (struct heap_locations_module){
		.path = strings_at(&p->texts, strings_add(&p->texts, map->path)),
		.build_id = strings_at(&p->texts, strings_add(&p->texts, map->build_id)),
		.deleted = map->deleted,
		.allocator = is_allocator(map->path),
	};
	map_set(&p->index, key | 1ull << 63, p->module_count);
	return (uint32_t)p->module_count++;
}

static bool goes_on(const struct dump_map *a, const struct dump_map *b)
{
	return b->executable && a->end == b->start &&
	       a->offset + (a->end - a->start) == b->offset && a->inode == b->inode &&
	       !strcmp(a->path, b->path);
}

/* Advice to the kernel may have split what was mapped as one. */
static void add_code(struct heap_locations_module *m, const struct dump *d,
		     const struct dump_map *map)
{
	const struct dump_map *first = map, *last = map, *end = d->maps + d->map_count;

	for (size_t i = 0; i < m->code_count; i++)
		if (map->offset >= m->code[i].offset &&
		    map->offset - m->code[i].offset < m->code[i].size)
			return;
	if (!map->executable || m->code_count == HEAP_CODE_MAX)
		return;
	while (first > d->maps && first[-1].executable && goes_on(first - 1, first))
		first--;
	while (last + 1 < end && goes_on(last, last + 1))
		last++;
	m->code[m->code_count++] =
		(struct heap_locations_code){ first->offset, last->end - first->start };
}

static const char *name_given(const struct dump *d, uint64_t pc)
{
	size_t low = FIRST_WHERE(i, d->name_count, d->names[i].pc >= pc);

	return low < d->name_count && d->names[low].pc == pc ? d->names[low].names : NULL;
}

/* Open addressing of our own on top of the map: another location may have the key. */
static bool find_location(const struct heap_locations *p, uint32_t module, uint64_t offset,
			  uint64_t *ret_location, uint64_t *ret_key)
{
	uint64_t key = (offset ^ (uint64_t)module << 40 ^ module) * 0x9e3779b97f4a7c15ull >> 1;

	for (; map_get(&p->index, key, ret_location); key = (key + 1) & ~(1ull << 63))
		if (p->locations[*ret_location].module == module &&
		    p->locations[*ret_location].offset == offset)
			return true;
	*ret_key = key;
	return false;
}

bool heap_locations_find(const struct heap_locations *p, uint32_t module, uint64_t offset,
			 uint32_t *ret_location)
{
	uint64_t found, key;

	if (!find_location(p, module, offset, &found, &key))
		return false;
	*ret_location = (uint32_t)found;
	return true;
}

/* Locations are known by file offset; `address` comes when the files are read. */
uint32_t heap_locations_add(struct heap_locations *p, const struct dump *d, uint64_t pc,
			    bool is_return)
{
	uint64_t at = is_return && pc ? pc - 1 : pc, key, found;
	const struct dump_map *map = dump_map_of(d, at);
	struct heap_location location = { .module = HEAP_NO_MODULE, .address = at, .offset = at };
	const char *given;

	if (map && *map->path && *map->path != '[') {
		location.module = module_of(p, map);
		add_code(&p->modules[location.module], d, map);
		/* The kernel maps the program lowest, or the libraries are all above it. */
		if (!strcmp(map->path, d->maps[0].path))
			p->main_module = location.module;
		location.offset = at - map->start + map->offset;
		location.loaded = map->has_bias ? at - map->bias : 0;
	}
	if (find_location(p, location.module, location.offset, &found, &key))
		return (uint32_t)found;
	p->locations = xgrow(p->locations, p->count, &p->room, sizeof(*p->locations));
	given = name_given(d, at);
	location.given = strings_add(&p->texts, given ? given : name_given(d, pc));
	p->locations[p->count] = location;
	map_set(&p->index, key, p->count);
	return (uint32_t)p->count++;
}

static void add_frame(struct heap_locations *p, struct heap_location *location,
		      struct heap_location_frame f)
{
	*xpush(p->frames, p->frame_count, p->frame_room) = f;
	location->frame_count++;
}

/* Where the last name of a chain begins; operator-- is a part of one. */
static size_t last_name(const char *names, size_t end)
{
	for (size_t at = end; at >= 2; at--)
		if (!memcmp(names + at - 2, "--", 2) &&
		    !(at >= 10 && !memcmp(names + at - 10, "operator--", 10)))
			return at;
	return 0;
}

/* "outer--inner", as symbolized files have it; from our agent as the linker knows them. */
static void add_given(struct heap_locations *p, struct heap_location *location)
{
	auto_free char *names = xstrdup(strings_at(&p->texts, location->given));
	size_t end = strlen(names), start;

	for (;; end = start - 2) {
		auto_free char *name = NULL;

		start = last_name(names, end);
		names[end] = 0;
		name = demangle(names + start);
		add_frame(p, location,
			  (struct heap_location_frame){ .function = strings_add(&p->texts, name),
							.inlined = start > 0 });
		if (!start)
			return;
	}
}

static void add_symbol(struct heap_locations *p, struct heap_location *location,
		       const struct symbol *s)
{
	for (unsigned i = 0; i < s->count; i++)
		add_frame(p, location,
			  (struct heap_location_frame){
				  .function = strings_add(&p->texts, s->frames[i].function),
				  .file = strings_add(&p->texts, s->frames[i].file),
				  .line = s->frames[i].line,
				  .inlined = s->frames[i].inlined });
}

/* All that is needed until the names are there. */
struct resolving {
	struct heap_locations *p;
	struct heap_file *files;
	struct symbols_module *modules;
	struct symbols *symbols;
	bool *usable;		    /* by module: something is known of it */
	struct heap_cache **caches; /* by module; NULL: none */
	uint64_t *spent_ns;	    /* by module, on looking up */
	uint32_t *order;	    /* locations to be looked up, by module and address */
	size_t wanted;
	struct symbol *found; /* by location */
};

static void find_files(struct resolving *r)
{
	struct heap_locations *p = r->p;
	const struct heap_locations_options *o = &p->options;
	struct search *search = search_new(o->debug_paths, o->debug_path_count, false);

	for (size_t i = 0; i < p->module_count; i++) {
		free(p->modules[i].file); /* of what is known, if not all is */
		p->modules[i].file = NULL;
		heap_files_find(p, i, search, &r->files[i]);
		r->modules[i] = (struct symbols_module){
			.path = p->modules[i].file ? p->modules[i].file : p->modules[i].path,
			.build_id = r->files[i].build_id,
			.build_id_size = r->files[i].build_id_size,
		};
	}
	search_free(search);
	r->symbols = symbols_new(r->modules, p->module_count,
				 &(struct symbols_options){
					 .debug_paths = o->debug_paths,
					 .debug_path_count = o->debug_path_count,
					 .debuginfod = o->debuginfod,
				 });
	for (size_t i = 0; i < p->module_count; i++) {
		const struct symbols_found *found;

		/* Without a build id only a file that was found here can be right. */
		if (!p->modules[i].file && *p->modules[i].build_id) {
			found = symbols_found(r->symbols, i);
			if (found->binary)
				heap_files_use(p, i, found->binary, &r->files[i]);
			r->usable[i] = found->level != SYMBOLS_NONE;
		}
		r->usable[i] |= p->modules[i].file != NULL;
		heap_files_warn(p, &r->files[i], r->usable[i]);
	}
}

/* From offsets in files to addresses of the files. */
static void find_address(struct resolving *r, struct heap_location *location)
{
	if (location->loaded)
		location->address = location->loaded;
	else if (location->module != HEAP_NO_MODULE)
		location->address =
			heap_files_address(&r->files[location->module], location->offset);
}

ORDER_WITH(by_module_and_address, uint32_t, struct heap_location,
	   COMPARE(context[*x].module, context[*y].module)
		   ?: COMPARE(context[*x].address, context[*y].address))

static void resolve_some(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct resolving *r = context;

	for (uint64_t i = first; i < first + count; i++) {
		const struct heap_location *location = &r->p->locations[r->order[i]];
		uint64_t started = now_ns();

		if (r->found[r->order[i]].count)
			continue;
		symbols_resolve(r->symbols, location->module, location->address,
				&r->found[r->order[i]]);
		__atomic_add_fetch(&r->spent_ns[location->module], now_ns() - started,
				   __ATOMIC_RELAXED);
	}
}

/* Reading a file's debug information is most of the work where locations are few: files are read
 * side by side, each for its first location. */
static void open_files(struct resolving *r)
{
	struct resolving first = *r;

	first.order = xcalloc(r->wanted + 1, sizeof(*first.order));
	first.wanted = 0;
	for (size_t i = 0; i < r->wanted; i++)
		if (!i ||
		    r->p->locations[r->order[i]].module != r->p->locations[r->order[i - 1]].module)
			first.order[first.wanted++] = r->order[i];
	parallel_for(first.wanted, 1, resolve_some, &first);
	free(first.order);
}

/* Which locations are to be looked up: those that are not known, and that neither the dump nor
 * the cache has. */
static void choose(struct resolving *r)
{
	struct heap_locations *p = r->p;

	for (size_t i = 0; i < p->count; i++) {
		struct heap_location *location = &p->locations[i];
		struct heap_cache **cache;

		if (location->frame_count)
			continue;
		find_address(r, location);
		if (location->given || location->module == HEAP_NO_MODULE ||
		    !r->usable[location->module])
			continue;
		cache = &r->caches[location->module];
		if (!*cache && p->options.cache)
			*cache =
				heap_cache_open(p->options.cache,
						symbols_found(r->symbols, location->module)->stamp);
		if (!*cache || !heap_cache_find(*cache, location->address, &r->found[i]))
			r->order[r->wanted++] = (uint32_t)i;
	}
	SORT_WITH(r->order, r->wanted, by_module_and_address, p->locations);
}

static void keep_found(struct resolving *r)
{
	for (size_t i = 0; i < r->wanted; i++) {
		const struct heap_location *location = &r->p->locations[r->order[i]];

		if (r->caches[location->module] && r->spent_ns[location->module] >= WORTH_NS)
			heap_cache_add(r->caches[location->module], location->address,
				       &r->found[r->order[i]]);
	}
	for (size_t i = 0; i < r->p->module_count; i++)
		heap_cache_close(r->caches[i]);
}

static void keep_id(struct heap_locations *p, struct heap_locations_module *m,
		    const struct heap_file *f)
{
	auto_buf struct buf id = { 0 };

	buf_hex(&id, f->build_id, f->build_id_size);
	m->build_id = strings_at(&p->texts, strings_add(&p->texts, id.data));
}

/* Addresses without a function of two builds are not the same, though their files' names are. */
static void name_modules(struct heap_locations *p)
{
	for (size_t i = 0; i < p->module_count; i++) {
		struct heap_locations_module *m = &p->modules[i];
		auto_free char *with_build = NULL;

		m->name = path_base(m->path);
		for (size_t k = 0; k < p->module_count && !with_build; k++) {
			const struct heap_locations_module *o = &p->modules[k];

			if (*m->build_id && *o->build_id && strcmp(m->build_id, o->build_id) != 0 &&
			    !strcmp(m->name, path_base(o->path)))
				with_build = xasprintf("%s:%.8s", m->name, m->build_id);
		}
		if (with_build)
			m->name = strings_at(&p->texts, strings_add(&p->texts, with_build));
	}
}

static void resolve(struct heap_locations *p)
{
	auto_free struct symbols_module *modules = xcalloc(p->module_count + 1, sizeof(*modules));
	auto_free struct heap_file *files = xcalloc(p->module_count + 1, sizeof(*files));
	auto_free bool *usable = xcalloc(p->module_count + 1, sizeof(*usable));
	auto_free struct heap_cache **caches = xcalloc(p->module_count + 1, sizeof(*caches));
	auto_free uint64_t *spent_ns = xcalloc(p->module_count + 1, sizeof(*spent_ns));
	auto_free uint32_t *order = xcalloc(p->count + 1, sizeof(*order));
	auto_free struct symbol *found = xcalloc(p->count + 1, sizeof(*found));
	struct resolving r = { .p = p,
			       .files = files,
			       .modules = modules,
			       .usable = usable,
			       .caches = caches,
			       .spent_ns = spent_ns,
			       .order = order,
			       .found = found };

	if (heap_known_take(p) == p->count)
		return;
	find_files(&r);
	choose(&r);
	open_files(&r);
	parallel_for(r.wanted, WORK, resolve_some, &r);
	keep_found(&r);
	for (size_t i = 0; i < p->count; i++) {
		struct heap_location *location = &p->locations[i];

		if (location->frame_count)
			continue;
		location->frame = p->frame_count;
		if (location->given)
			add_given(p, location);
		add_symbol(p, location, &found[i]);
		if (!location->frame_count)
			add_frame(p, location, (struct heap_location_frame){ 0 });
		symbol_release(&found[i]);
	}
	symbols_free(r.symbols);
	for (size_t i = 0; i < p->module_count; i++) {
		if (p->modules[i].file)
			keep_id(p, &p->modules[i], &files[i]);
		heap_files_release(&files[i]);
	}
}

void heap_locations_resolve(struct heap_locations *p)
{
	parallel_whole(); /* names are kept, also those that were not found */
	resolve(p);
	name_modules(p);
}
