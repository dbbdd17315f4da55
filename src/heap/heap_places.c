/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places of dumps: modules from the maps, then addresses as the files count them, then names.
 *
 * A dump has no build ids.  So a module's file is the one at its path if that is there; then one of
 * the same name among what the user named, which is said, since it may be another build. */
#include "heap/heap_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbols/elf_file.h"
#include "symbols/search.h"
#include "symbols/symbols.h"

/* A module's file, while places are resolved. */
struct file {
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
	Elf64_Phdr *loads;
	size_t load_count;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_allocator(const char *path)
{
	static const char *const stems[] = { "libjemalloc", "libtcmalloc", "libmimalloc",
					     "libmemoir" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++)
		if (!strncmp(base_name(path), stems[i], strlen(stems[i])))
			return true;
	return false;
}

void heap_places_init(struct heap_places *p, const struct heap_places_options *options)
{
	*p = (struct heap_places){ .options = *options, .main_module = HEAP_NO_MODULE };
	strings_init(&p->texts);
}

void heap_places_release(struct heap_places *p)
{
	for (size_t i = 0; i < p->module_count; i++)
		free(p->modules[i].file);
	free(p->modules);
	free(p->places);
	free(p->frames);
	map_release(&p->index);
	strings_release(&p->texts);
}

static uint32_t module_of(struct heap_places *p, const char *path)
{
	uint32_t text = strings_add(&p->texts, path);
	uint64_t at;

	path = strings_at(&p->texts, text);
	/* Module paths share the index with places, whose keys have another highest bit. */
	if (map_get(&p->index, text | 1ull << 63, &at))
		return (uint32_t)at;
	p->modules = xgrow(p->modules, p->module_count, &p->module_room, sizeof(*p->modules));
	p->modules[p->module_count] =
		(struct heap_places_module){ .path = path, .allocator = is_allocator(path) };
	map_set(&p->index, text | 1ull << 63, p->module_count);
	return (uint32_t)p->module_count++;
}

static const char *name_given(const struct dump *d, uint64_t pc)
{
	size_t low = 0, high = d->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->names[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->name_count && d->names[low].pc == pc ? d->names[low].names : NULL;
}

/* Places are kept by file offset until the files are read: `address` is that, and becomes an
 * address of the file in heap_places_resolve(). */
uint32_t heap_places_add(struct heap_places *p, const struct dump *d, uint64_t pc, bool is_return)
{
	uint64_t at = is_return && pc ? pc - 1 : pc, key, found;
	const struct dump_map *map = dump_map_of(d, at);
	struct heap_place place = { .module = HEAP_NO_MODULE, .address = at };

	if (map && *map->path && *map->path != '[') {
		place.module = module_of(p, map->path);
		/* The kernel maps the program lowest, or the libraries are all above it. */
		if (!strcmp(map->path, d->maps[0].path))
			p->main_module = place.module;
		place.address = at - map->start + map->offset;
	}
	key = (place.address ^ (uint64_t)place.module << 40 ^ place.module) *
		      0x9e3779b97f4a7c15ull >>
	      1;
	/* Open addressing of our own on top of the map: another place may have the key. */
	for (; map_get(&p->index, key, &found); key = (key + 1) & ~(1ull << 63))
		if (p->places[found].module == place.module &&
		    p->places[found].address == place.address)
			return (uint32_t)found;
	p->places = xgrow(p->places, p->count, &p->room, sizeof(*p->places));
	place.given = strings_add(&p->texts, name_given(d, pc));
	p->places[p->count] = place;
	map_set(&p->index, key, p->count);
	return (uint32_t)p->count++;
}

/* What the loader maps, checked against the file's size by elf_file_read(). */
static void take_loads(struct file *f, const struct elf_file *elf)
{
	Elf64_Ehdr head;

	if (!elf_file_read(elf, 0, &head, sizeof(head)) || head.e_phentsize != sizeof(Elf64_Phdr))
		return;
	f->loads = xcalloc(head.e_phnum, sizeof(*f->loads));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr *h = &f->loads[f->load_count];

		if (!elf_file_read(elf, head.e_phoff + i * sizeof(*h), h, sizeof(*h)))
			return;
		f->load_count += h->p_type == PT_LOAD;
	}
}

struct taking {
	struct heap_places_module *module;
	struct file *file;
};

static bool take(void *context, const char *path)
{
	struct taking *t = context;
	struct elf_file elf;

	if (!elf_file_open(&elf, path))
		return false;
	memcpy(t->file->build_id, elf.build_id, elf.build_id_size);
	t->file->build_id_size = elf.build_id_size;
	take_loads(t->file, &elf);
	elf_file_release(&elf);
	t->module->file = xstrdup(path);
	return true;
}

static void find_file(struct heap_places *p, size_t i, struct search *search, struct file *file)
{
	struct heap_places_module *m = &p->modules[i];
	struct taking t = { m, file };
	auto_free char *moved =
		xasprintf("%s%s", p->options.sysroot ? p->options.sysroot : "", m->path);

	if (p->options.program && !strcmp(base_name(p->options.program), base_name(m->path)) &&
	    take(&t, p->options.program))
		return;
	if (take(&t, moved))
		return;
	m->named = search_by_name(search, base_name(m->path), take, &t);
}

/* From an offset in the file to the address that the file gives it. */
static uint64_t address_of(const struct file *f, uint64_t offset)
{
	for (size_t i = 0; i < f->load_count; i++) {
		const Elf64_Phdr *h = &f->loads[i];
		/* The kernel maps whole pages: what is before a segment's start belongs to it, too.
		 */
		uint64_t before = h->p_offset & 4095;

		if (offset >= h->p_offset - before &&
		    offset - (h->p_offset - before) < h->p_filesz + before)
			return offset - h->p_offset + h->p_vaddr;
	}
	return offset;
}

static void add_frame(struct heap_places *p, struct heap_place *place, struct heap_place_frame f)
{
	p->frames = xgrow(p->frames, p->frame_count, &p->frame_room, sizeof(*p->frames));
	p->frames[p->frame_count++] = f;
	place->frame_count++;
}

/* "inner--outer", as symbolized files have it. */
static void add_given(struct heap_places *p, struct heap_place *place)
{
	auto_free char *names = xstrdup(strings_at(&p->texts, place->given));

	for (char *name = names, *next; name; name = next) {
		next = strstr(name, "--");
		if (next) {
			*next = 0;
			next += 2;
		}
		add_frame(p, place,
			  (struct heap_place_frame){ .function = strings_add(&p->texts, name),
						     .inlined = next != NULL });
	}
}

static void add_resolved(struct heap_places *p, struct symbols *symbols, struct heap_place *place)
{
	struct symbol s;

	symbols_resolve(symbols, place->module, place->address, &s);
	for (unsigned i = 0; i < s.count; i++)
		add_frame(p, place,
			  (struct heap_place_frame){
				  .function = strings_add(&p->texts, s.frames[i].function),
				  .file = strings_add(&p->texts, s.frames[i].file),
				  .line = s.frames[i].line,
				  .inlined = s.frames[i].inlined });
	symbol_release(&s);
}

void heap_places_resolve(struct heap_places *p)
{
	auto_free struct symbols_module *modules = xcalloc(p->module_count + 1, sizeof(*modules));
	auto_free struct file *files = xcalloc(p->module_count + 1, sizeof(*files));
	struct search *search =
		search_new(p->options.debug_paths, p->options.debug_path_count, false);
	struct symbols *symbols;

	for (size_t i = 0; i < p->module_count; i++) {
		find_file(p, i, search, &files[i]);
		modules[i] = (struct symbols_module){
			.path = p->modules[i].file ? p->modules[i].file : p->modules[i].path,
			.build_id = files[i].build_id,
			.build_id_size = files[i].build_id_size,
		};
	}
	search_free(search);
	symbols = symbols_new(modules, p->module_count,
			      &(struct symbols_options){
				      .debug_paths = p->options.debug_paths,
				      .debug_path_count = p->options.debug_path_count,
				      .debuginfod = p->options.debuginfod,
			      });
	for (size_t i = 0; i < p->count; i++) {
		struct heap_place *place = &p->places[i];

		place->frame = p->frame_count;
		if (place->module != HEAP_NO_MODULE)
			place->address = address_of(&files[place->module], place->address);
		if (place->given)
			add_given(p, place);
		else if (place->module != HEAP_NO_MODULE && p->modules[place->module].file)
			add_resolved(p, symbols, place);
		if (!place->frame_count)
			add_frame(p, place, (struct heap_place_frame){ 0 });
	}
	symbols_free(symbols);
	for (size_t i = 0; i < p->module_count; i++)
		free(files[i].loads);
}
