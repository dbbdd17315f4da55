/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding a module's files.  See image.h. */
#include "symbols/image.h"

#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/xalloc.h"
#include "symbols/flat.h"
#include "symbols/unpack.h"

#define MINI_MAX (256u << 20) /* what .gnu_debugdata may grow to */
#define CHAIN_MAX 4	      /* debug links that lead to debug links */
#define REFUSED_MAX 16
#define ID_SHOWN 8 /* bytes */
#define FROM_SERVER "(from a debuginfod server)"

void found_refuse(struct symbols_found *f, const char *path, const char *format, ...)
{
	struct symbols_refused *r;
	va_list args;

	for (size_t i = 0; i < f->refused_count; i++)
		if (!strcmp(f->refused[i].path, path))
			return;
	if (f->refused_count >= REFUSED_MAX)
		return;
	r = xpush(f->refused, f->refused_count, f->refused_room);
	r->path = xstrdup(path);
	va_start(args, format);
	if (vasprintf(&r->why, format, args) < 0)
		r->why = xstrdup("");
	va_end(args);
}

void found_release(struct symbols_found *f)
{
	for (size_t i = 0; i < f->refused_count; i++) {
		free(f->refused[i].path);
		free(f->refused[i].why);
	}
	free(f->refused);
	free(f->binary);
	free(f->debug);
	free(f->alt);
	memset(f, 0, sizeof(*f));
}

static bool same_id(const struct elf_file *f, const uint8_t *id, size_t size)
{
	return f->build_id_size == size && !memcmp(f->build_id, id, size);
}

static const char *id_text(char *text, const uint8_t *id, size_t size)
{
	if (!size)
		return "none";
	for (size_t i = 0; i < size && i < ID_SHOWN; i++)
		sprintf(text + i * 2, "%02x", id[i]);
	return text;
}

/* Is it the build that was recorded?  Another one is among the refused files then. */
static bool is_wanted(struct image *i, const char *path, const struct elf_file *f)
{
	char a[ID_SHOWN * 2 + 1], b[ID_SHOWN * 2 + 1];

	if (same_id(f, i->module->build_id, i->module->build_id_size))
		return true;
	found_refuse(i->found, path, "another build: its build id is %s, the recording has %s",
		     id_text(a, f->build_id, f->build_id_size),
		     id_text(b, i->module->build_id, i->module->build_id_size));
	return false;
}

/* Anything to learn from? */
static bool is_useful(const struct elf_file *f)
{
	return flat_possible(f) || elf_file_section_of_type(f, SHT_SYMTAB) ||
	       elf_file_section_of_type(f, SHT_DYNSYM);
}

static bool take_binary(void *context, const char *path)
{
	struct image *i = context;
	auto_release(elf_file_release) struct elf_file f;

	if (!elf_file_open(&f, path) || !is_wanted(i, path, &f) || !is_useful(&f))
		return false;
	i->binary = elf_file_take(&f);
	i->found->binary = xstrdup(path);
	return true;
}

static bool take_embedded(struct image *i, const struct symbols_options *o)
{
	auto_release(elf_file_release) struct elf_file f = { .fd = -1 };
	auto_buf struct buf bytes = { 0 };

	if (!o || !o->embedded || !o->embedded(o->context, i->module, &bytes) || !bytes.size ||
	    !elf_file_memory(&f, &bytes) || !is_wanted(i, "(in the recording)", &f))
		return false;
	i->binary = elf_file_take(&f);
	i->found->embedded = true;
	return true;
}

static const char *name_of(const struct symbols_module *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

static void find_binary(struct image *i, const struct symbols_options *o)
{
	const struct symbols_module *m = i->module;
	auto_free char *system = search_system_path(m->build_id, m->build_id_size, "");

	(void)((m->path[0] == '/' && take_binary(i, m->path)) ||
	       search_by_build_id(i->search, m->build_id, m->build_id_size, take_binary, i) ||
	       take_embedded(i, o) || (system && take_binary(i, system)) ||
	       (*name_of(m) && search_by_name(i->search, name_of(m), take_binary, i)));
}

/* A separate debug file replaces one that knows less, and is taken then. */
static bool use_debug(struct image *i, struct elf_file *f, const char *path)
{
	if (!flat_possible(f) &&
	    (elf_file_is_open(&i->debug) || !elf_file_section_of_type(f, SHT_SYMTAB)))
		return false;
	elf_file_release(&i->debug);
	free(i->found->debug);
	i->debug = elf_file_take(f);
	i->found->debug = xstrdup(path);
	return flat_possible(&i->debug);
}

static bool take_debug(void *context, const char *path)
{
	struct image *i = context;
	auto_release(elf_file_release) struct elf_file f;

	/* A file of another build would give wrong lines, which is worse than none. */
	return elf_file_open(&f, path) && i->module->build_id_size && is_wanted(i, path, &f) &&
	       use_debug(i, &f, path);
}

struct link {
	struct image *image;
	uint32_t crc;
};

/* A file that a debug link names: by build id where both have one, otherwise by its sum. */
static bool take_linked(void *context, const char *path)
{
	struct link *l = context;
	struct image *i = l->image;
	auto_release(elf_file_release) struct elf_file f;

	if (!elf_file_open(&f, path))
		return false;
	/* A program that is its own debug file is none. */
	if (elf_file_is_open(&i->binary) && f.inode == i->binary.inode &&
	    f.size == i->binary.size && f.mtime_ns == i->binary.mtime_ns)
		return false;
	if (f.build_id_size && i->module->build_id_size) {
		if (!is_wanted(i, path, &f))
			return false;
	} else if (elf_file_crc(&f) != l->crc) {
		found_refuse(i->found, path, "not the file that .gnu_debuglink means: another sum");
		return false;
	}
	return use_debug(i, &f, path);
}

static bool take_formatted(struct link *l, const char *root, const char *folder, const char *more,
			   const char *name)
{
	auto_free char *path = xasprintf("%s%s%s/%s", root, folder, more, name);

	return take_linked(l, path);
}

static bool follow_link(struct image *i, const struct elf_file *from)
{
	struct link l = { .image = i };
	auto_free char *name = elf_file_debuglink(from, &l.crc);
	auto_free char *copy = xstrdup(i->module->path);
	const char *folder = dirname(copy);

	if (!name)
		return false;
	if (*folder == '/' && (take_formatted(&l, "", folder, "", name) ||
			       take_formatted(&l, "", folder, "/.debug", name) ||
			       take_formatted(&l, DEBUG_ROOT, folder, "", name) ||
			       /* /lib is /usr/lib, but debug packages may not know it. */
			       (!strncmp(folder, "/usr/", 5)
					? take_formatted(&l, DEBUG_ROOT, folder + 4, "", name)
					: take_formatted(&l, DEBUG_ROOT "/usr", folder, "", name))))
		return true;
	return search_by_name(i->search, name, take_linked, &l);
}

static bool follow_links(struct image *i)
{
	if (!elf_file_is_open(&i->binary))
		return false;
	if (follow_link(i, &i->binary))
		return true;
	for (unsigned n = 1; n < CHAIN_MAX && elf_file_is_open(&i->debug); n++) {
		uint64_t inode = i->debug.inode;

		if (follow_link(i, &i->debug))
			return true;
		if (i->debug.inode == inode)
			break;
	}
	return false;
}

static bool take_server(struct image *i)
{
	int fd = search_server(i->search, i->module->build_id, i->module->build_id_size);
	auto_release(elf_file_release) struct elf_file f = { .fd = -1 };

	if (fd < 0 || !elf_file_descriptor(&f, fd) ||
	    (f.build_id_size && !is_wanted(i, FROM_SERVER, &f)))
		return false;
	i->found->server = use_debug(i, &f, FROM_SERVER);
	return i->found->server;
}

/* ~/x/libfoo.so given for a module libfoo.so, but of another build: say so. */
static bool refuse_named(void *context, const char *path)
{
	struct image *i = context;
	auto_release(elf_file_release) struct elf_file f;

	if (elf_file_open(&f, path))
		is_wanted(i, path, &f);
	return false;
}

static void find_debug(struct image *i)
{
	const struct symbols_module *m = i->module;
	auto_free char *system = search_system_path(m->build_id, m->build_id_size, ".debug");
	auto_free char *named = xasprintf("%s.debug", name_of(m));

	if (search_by_build_id(i->search, m->build_id, m->build_id_size, take_debug, i) ||
	    (system && take_debug(i, system)) || follow_links(i) || take_server(i))
		return;
	search_by_name(i->search, name_of(m), refuse_named, i);
	search_by_name(i->search, named, refuse_named, i);
}

static void unpack_mini(struct image *i)
{
	const Elf64_Shdr *s = elf_file_section(&i->binary, ".gnu_debugdata");
	auto_free uint8_t *packed = s ? elf_file_content(&i->binary, s, MINI_MAX) : NULL;
	auto_buf struct buf bytes = { 0 };

	if (packed && unpack_xz(packed, s->sh_size, &bytes, MINI_MAX) &&
	    elf_file_memory(&i->mini, &bytes))
		i->found->mini = elf_file_section_of_type(&i->mini, SHT_SYMTAB) != NULL;
	else if (packed)
		found_refuse(i->found, i->module->path, "its .gnu_debugdata is damaged");
	if (!i->found->mini)
		elf_file_release(&i->mini);
}

struct alt {
	struct image *image;
	const char *name;
	uint8_t id[BUILD_ID_MAX];
	size_t id_size;
};

static bool take_alt(void *context, const char *path)
{
	struct alt *a = context;
	auto_release(elf_file_release) struct elf_file f;

	if (!elf_file_open(&f, path))
		return false;
	if (!same_id(&f, a->id, a->id_size) || !flat_possible(&f)) {
		found_refuse(a->image->found, path, "not the build that the debug file refers to");
		return false;
	}
	a->image->alt = elf_file_take(&f);
	a->image->found->alt = xstrdup(path);
	return true;
}

static void find_alt(struct image *i)
{
	const struct elf_file *from = image_with_lines(i);
	struct alt a = { .image = i };
	auto_free char *link = from ? elf_file_altlink(from, a.id, &a.id_size) : NULL;
	const char *holder = from == &i->debug ? i->found->debug : i->found->binary;
	auto_free char *copy = xstrdup(holder ? holder : "/");
	auto_free char *beside = NULL, *system = NULL;
	int fd;

	if (!link)
		return;
	beside = *link == '/' ? xstrdup(link) : xasprintf("%s/%s", dirname(copy), link);
	system = search_system_path(a.id, a.id_size, ".debug");
	if (search_by_build_id(i->search, a.id, a.id_size, take_alt, &a) ||
	    (system && take_alt(&a, system)) || take_alt(&a, beside))
		return;
	fd = search_server(i->search, a.id, a.id_size);
	if (fd >= 0 && elf_file_descriptor(&i->alt, fd))
		i->found->alt = xstrdup(FROM_SERVER);
	else
		found_refuse(i->found, beside,
			     "missing: the debug file shares a part with others, "
			     "and this should be it");
}

const struct elf_file *image_with_lines(const struct image *i)
{
	if (elf_file_is_open(&i->debug) && flat_possible(&i->debug))
		return &i->debug;
	return flat_possible(&i->binary) ? &i->binary : NULL;
}

static void add_to_stamp(uint64_t *stamp, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < size; i++)
		*stamp = (*stamp ^ p[i]) * 0x100000001b3ull;
}

static void stamp_file(uint64_t *stamp, const struct elf_file *f, const char *path)
{
	add_to_stamp(stamp, path ? path : "", path ? strlen(path) + 1 : 1);
	add_to_stamp(stamp, &f->size, sizeof(f->size));
	add_to_stamp(stamp, &f->mtime_ns, sizeof(f->mtime_ns));
	add_to_stamp(stamp, &f->inode, sizeof(f->inode));
}

static void describe(struct image *i)
{
	struct symbols_found *f = i->found;

	if (image_with_lines(i))
		f->level = SYMBOLS_LINES;
	else if (elf_file_section_of_type(&i->debug, SHT_SYMTAB) ||
		 elf_file_section_of_type(&i->binary, SHT_SYMTAB) || f->mini)
		f->level = SYMBOLS_NAMES;
	else if (elf_file_section_of_type(&i->binary, SHT_DYNSYM))
		f->level = SYMBOLS_EXPORTED;
	f->stamp = 0xcbf29ce484222325ull;
	add_to_stamp(&f->stamp, &f->level, sizeof(f->level));
	add_to_stamp(&f->stamp, i->module->build_id, i->module->build_id_size);
	stamp_file(&f->stamp, &i->binary, f->binary);
	stamp_file(&f->stamp, &i->debug, f->debug);
	stamp_file(&f->stamp, &i->alt, f->alt);
}

void image_open(struct image *i, const struct symbols_module *m, struct search *search,
		const struct symbols_options *o, struct symbols_found *found)
{
	memset(i, 0, sizeof(*i));
	memset(found, 0, sizeof(*found));
	i->module = m;
	i->search = search;
	i->found = found;
	i->binary.fd = i->debug.fd = i->mini.fd = i->alt.fd = -1;
	find_binary(i, o);
	if (!flat_possible(&i->binary))
		find_debug(i);
	if (!image_with_lines(i) && !elf_file_section_of_type(&i->debug, SHT_SYMTAB) &&
	    !elf_file_section_of_type(&i->binary, SHT_SYMTAB))
		unpack_mini(i);
	find_alt(i);
	describe(i);
}

void image_release(struct image *i)
{
	elf_file_release(&i->binary);
	elf_file_release(&i->debug);
	elf_file_release(&i->mini);
	elf_file_release(&i->alt);
}
