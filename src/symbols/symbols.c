/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules, opened when needed, and what has been read of them.  See symbols.h.
 *
 * A module's files are read once; each thread that resolves in it takes a reader of its own, out of
 * those that others have put back. */
#include "symbols/symbols.h"

#include <string.h>

#include "base/hold_lock.h"
#include "base/xalloc.h"
#include "symbols/debuginfod.h"
#include "symbols/flat.h"
#include "symbols/image.h"
#include "symbols/lines.h"
#include "symbols/names.h"
#include "symbols/search.h"
#include "symbols/starts.h"

#define READERS_MAX 16
/* Of images that are open though nobody resolves in them now. */
#define IDLE_MAX (1ull << 30)
/* A reader that has looked at this much makes room for a new one. */
#define READER_SIZE_MAX (128ull << 20)

struct loaded {
	pthread_mutex_t lock;
	struct symbols_found found;
	bool sought, read;
	struct names names;
	struct flat flat, alt;
	struct lines lines;
	bool has_lines;
	uint16_t machine; /* as ELF files number it */
	struct lines_reader *idle[READERS_MAX];
	unsigned idle_count, busy_count;
};

struct symbols {
	const struct symbols_module *modules;
	struct loaded *loaded;
	size_t count;
	struct symbols_options options;
	struct search *search;
	uint64_t held; /* bytes of all images */
};

struct symbols *symbols_new(const struct symbols_module *modules, size_t count,
			    const struct symbols_options *o)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->modules = modules;
	s->count = count;
	s->loaded = xcalloc(count, sizeof(*s->loaded));
	for (size_t i = 0; i < count; i++)
		pthread_mutex_init(&s->loaded[i].lock, NULL);
	if (o)
		s->options = *o;
	s->search = search_new(s->options.debug_paths, s->options.debug_path_count,
			       s->options.debuginfod);
	return s;
}

static void symbols_forget(struct symbols *s, struct loaded *l)
{
	__atomic_sub_fetch(&s->held, l->flat.size + l->alt.size, __ATOMIC_RELAXED);
	while (l->idle_count)
		lines_reader_free(l->idle[--l->idle_count]);
	lines_release(&l->lines);
	names_release(&l->names);
	flat_release(&l->flat);
	flat_release(&l->alt);
	l->read = l->has_lines = false;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++) {
		symbols_forget(s, &s->loaded[i]);
		found_release(&s->loaded[i].found);
		pthread_mutex_destroy(&s->loaded[i].lock);
	}
	search_free(s->search);
	free(s->loaded);
	free(s);
	return NULL;
}

static void read_names(struct loaded *l, const struct image *i)
{
	if (!names_add(&l->names, &i->debug, SHT_SYMTAB) &&
	    !names_add(&l->names, &i->binary, SHT_SYMTAB))
		names_add(&l->names, &i->mini, SHT_SYMTAB);
	/* Has nothing new, except beside .gnu_debugdata or when there is no other. */
	if (!l->names.full || l->found.mini)
		names_add(&l->names, &i->binary, SHT_DYNSYM);
	names_sort(&l->names);
}

static void read_lines(struct loaded *l, const struct image *i, bool published)
{
	const struct elf_file *from = image_with_lines(i);
	const char *path = from == &i->debug ? l->found.debug : l->found.binary;

	if (!from)
		return;
	if (elf_file_is_open(&i->alt))
		flat_read(&l->alt, &i->alt);
	l->has_lines = flat_read(&l->flat, from) &&
		       lines_read(&l->lines, &l->flat, l->alt.bytes ? &l->alt : NULL, &l->names,
				  from->first_code);
	if (l->has_lines)
		return;
	__atomic_store_n(&l->found.level, SYMBOLS_NAMES, __ATOMIC_RELAXED);
	/* Others may be reading what was refused. */
	if (!published)
		found_refuse(&l->found, path ? path : "(in the recording)",
			     "its debug information is damaged");
}

/* With the lock held.  The files are only looked for, or read as well. */
static void open_module(struct symbols *s, size_t module, bool read)
{
	struct loaded *l = &s->loaded[module];
	struct symbols_found found;
	struct image image;
	bool published = l->sought;

	if (read ? l->read : l->sought)
		return;
	image_open(&image, &s->modules[module], s->search, &s->options, &found);
	if (l->sought)
		found_release(&found);
	else
		l->found = found;
	image.found = &l->found;
	l->machine = image.binary.machine ? image.binary.machine : image.debug.machine;
	l->sought = true;
	if (read) {
		read_names(l, &image);
		read_lines(l, &image, published);
		__atomic_add_fetch(&s->held, l->flat.size + l->alt.size, __ATOMIC_RELAXED);
		l->read = true;
	}
	image_release(&image);
}

const struct symbols_found *symbols_found(struct symbols *s, size_t module)
{
	static const struct symbols_found nothing;
	struct loaded *l;

	if (module >= s->count)
		return &nothing;
	l = &s->loaded[module];
	hold_lock(&l->lock);
	open_module(s, module, false);
	return &l->found;
}

enum symbols_level symbols_level(struct symbols *s, size_t module)
{
	return symbols_found(s, module)->level;
}

/* Closes modules that nobody is in while too much is open. */
static void make_room(struct symbols *s, size_t but)
{
	for (size_t i = 0; i < s->count; i++) {
		struct loaded *l = &s->loaded[i];

		if (__atomic_load_n(&s->held, __ATOMIC_RELAXED) <= IDLE_MAX)
			return;
		if (i == but || pthread_mutex_trylock(&l->lock) != 0)
			continue;
		if (l->read && !l->busy_count)
			symbols_forget(s, l);
		pthread_mutex_unlock(&l->lock);
	}
}

uint64_t symbols_stamp(struct symbols *s, size_t module)
{
	struct loaded *l;

	if (module >= s->count)
		return 0;
	l = &s->loaded[module];
	hold_lock(&l->lock);
	return l->sought ? l->found.stamp : 0;
}

static struct lines_reader *take_reader(struct symbols *s, size_t module)
{
	struct loaded *l = &s->loaded[module];
	struct lines_reader *r = NULL;

	pthread_mutex_lock(&l->lock);
	if (!l->read) {
		make_room(s, module);
		open_module(s, module, true);
	}
	l->busy_count++;
	if (l->idle_count)
		r = l->idle[--l->idle_count];
	pthread_mutex_unlock(&l->lock);
	return r || !l->has_lines ? r : lines_reader_new(&l->lines);
}

static void give_back(struct loaded *l, struct lines_reader *r)
{
	pthread_mutex_lock(&l->lock);
	l->busy_count--;
	if (r && l->idle_count < READERS_MAX && lines_reader_size(r) < READER_SIZE_MAX) {
		l->idle[l->idle_count++] = r;
		r = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	lines_reader_free(r);
}

/* An address in the middle of an instruction is one before that where a call returns to.  On MIPS
 * that is not yet the call: an instruction is between them, which may be of another line. */
static uint64_t address_of_call(const struct loaded *l, uint64_t address)
{
	return l->machine == EM_MIPS && address & 3 && address >= 8 ? (address & ~3ull) - 4
								    : address;
}

void symbols_resolve(struct symbols *s, size_t module, uint64_t address, struct symbol *ret_symbol)
{
	struct lines_reader *r = NULL;
	struct symbol_frame *last;
	const char *name = NULL;

	memset(ret_symbol, 0, sizeof(*ret_symbol));
	if (module < s->count) {
		r = take_reader(s, module);
		address = address_of_call(&s->loaded[module], address);
	}
	if (!r || !lines_find(r, address, ret_symbol)) {
		ret_symbol->count = 1;
		ret_symbol->frames = xcalloc(1, sizeof(*ret_symbol->frames));
	}
	if (module >= s->count)
		return;
	last = &ret_symbol->frames[ret_symbol->count - 1];
	if (!last->function)
		name = names_find(&s->loaded[module].names, address);
	if (name) {
		last->function = demangle(name);
		last->raw_function = xstrdup(name);
	}
	give_back(&s->loaded[module], r);
}

bool symbols_function(struct symbols *s, size_t module, uint64_t address,
		      struct symbols_function *ret)
{
	struct lines_reader *r;
	const struct name *row;

	if (module >= s->count)
		return false;
	r = take_reader(s, module);
	row = names_row(&s->loaded[module].names, address);
	if (row)
		*ret = (struct symbols_function){ row->start,
						  names_end(&s->loaded[module].names, row),
						  demangle(row->text) };
	give_back(&s->loaded[module], r);
	return row;
}

void symbols_starts(struct symbols *s, size_t module, struct starts *ret)
{
	struct symbols_found found;
	struct image image;

	memset(ret, 0, sizeof(*ret));
	if (module >= s->count)
		return;
	image_open(&image, &s->modules[module], s->search, &s->options, &found);
	if (elf_file_is_open(&image.binary))
		starts_read(ret, &image.binary);
	image_release(&image);
	found_release(&found);
}

void symbols_steps(struct symbols *s, size_t module, uint64_t start, uint64_t end,
		   struct symbols_steps *steps)
{
	struct lines_reader *r;

	if (module >= s->count)
		return;
	r = take_reader(s, module);
	if (r)
		lines_steps(r, start, end, steps);
	give_back(&s->loaded[module], r);
}

void symbol_release(struct symbol *symbol)
{
	for (unsigned k = 0; k < symbol->count; k++) {
		free(symbol->frames[k].function);
		free(symbol->frames[k].raw_function);
		free(symbol->frames[k].file);
	}
	free(symbol->frames);
	memset(symbol, 0, sizeof(*symbol));
}

void symbols_close(struct symbols *s, size_t module)
{
	struct loaded *l;

	if (module >= s->count)
		return;
	l = &s->loaded[module];
	hold_lock(&l->lock);
	if (!l->busy_count)
		symbols_forget(s, l);
}

const char *symbols_debuginfod_problem(void)
{
	return debuginfod_problem();
}
