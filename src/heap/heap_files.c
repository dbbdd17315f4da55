/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of modules.  See heap_files.h. */
#include "heap/heap_files.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"

#define SMALLEST 4096u /* page of any system */
#define REFUSED_MAX 8

/* One module that a file is looked for. */
struct hunt {
	struct heap_locations *p;
	struct heap_locations_module *module;
	struct heap_file *file;
	bool insist; /* the user means the candidate */
	bool stale;  /* the candidate took the place of what was loaded */
};

static void warn(struct heap_file *f, char *line)
{
	*xpush(f->refused, f->refused_count, f->refused_room) = line;
}

/* "FILE is not used for MODULE: why", once for each file. */
static void refuse(struct hunt *h, const char *path, const char *why)
{
	struct heap_file *f = h->file;
	auto_free char *real = realpath(path, NULL);
	const char *file = real ? real : path, *module = h->module->path;
	bool other = strcmp(file, module) != 0;
	char *line = xasprintf("%s is not used%s%s: %s", file, other ? " for " : "",
			       other ? module : "", why);

	h->file->insisted |= h->insist;
	for (size_t i = 0; i < f->refused_count; i++)
		if (!strcmp(f->refused[i], line) || i + 1 == REFUSED_MAX) {
			free(line);
			return;
		}
	warn(f, line);
}

/* What the loader maps, checked against the file's size by elf_file_read(). */
static void take_loads(struct heap_file *f, const struct elf_file *elf)
{
	Elf64_Ehdr head;

	free(f->loads);
	f->loads = NULL;
	f->load_count = 0;
	if (!elf_file_header(elf, &head))
		return;
	f->loads = xcalloc((size_t)head.e_phnum + 1, sizeof(*f->loads));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr *h = &f->loads[f->load_count];

		if (!elf_file_segment(elf, &head, i, h))
			return;
		f->load_count += h->p_type == PT_LOAD;
	}
}

/* The segment without its part of a page. */
static uint64_t first_page(const Elf64_Phdr *h)
{
	return h->p_offset & ~(uint64_t)(SMALLEST - 1);
}

/* Pages of segments with code, as they are in the dump; which may come from a machine with larger
 * ones.  The kernel makes one map of segments that follow each other in the file as in memory. */
static bool holds(const Elf64_Phdr *h, const Elf64_Phdr *end,
		  const struct heap_locations_code *code)
{
	static const uint64_t pages[] = { SMALLEST, 4 * SMALLEST, 16 * SMALLEST };

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		const uint64_t mask = pages[i] - 1, first = h->p_offset & ~mask;
		uint64_t size = 0;

		for (const Elf64_Phdr *s = h; s < end && s->p_flags & PF_X; s++) {
			if (s->p_vaddr - s->p_offset != h->p_vaddr - h->p_offset ||
			    (s->p_offset & ~mask) - first > size ||
			    __builtin_add_overflow(s->p_offset - first, s->p_filesz, &size) ||
			    __builtin_add_overflow(size, mask, &size))
				break;
			size &= ~mask;
			if (code->offset == first && code->size == size)
				return true;
		}
	}
	return false;
}

/* A file of debug information alone has segments without content: the one with code is then laid
 * over the code that the dump has, if it is as large. */
static bool fits_debug_file(struct heap_file *f, const struct heap_locations_module *m)
{
	Elf64_Phdr *only = NULL;
	uint64_t within;

	for (size_t i = 0; i < f->load_count; i++)
		if (f->loads[i].p_flags & PF_X) {
			if (only || f->loads[i].p_filesz)
				return false;
			only = &f->loads[i];
		}
	if (!only || m->code_count != 1)
		return false;
	within = only->p_vaddr & (SMALLEST - 1);
	if (only->p_memsz > UINT64_MAX / 2 || ((only->p_memsz + within + SMALLEST - 1) &
					       ~(uint64_t)(SMALLEST - 1)) != m->code[0].size)
		return false;
	only->p_offset = m->code[0].offset + within;
	only->p_filesz = only->p_memsz;
	f->loads[0] = *only;
	f->load_count = 1;
	return true;
}

static bool fits(struct heap_file *f, const struct heap_locations_module *m)
{
	for (size_t i = 0; i < m->code_count; i++) {
		size_t k = 0;

		while (k < f->load_count &&
		       !holds(&f->loads[k], f->loads + f->load_count, &m->code[i]))
			k++;
		if (k == f->load_count)
			return fits_debug_file(f, m);
	}
	return true;
}

static void refuse_id(struct hunt *h, const char *path, const struct elf_file *elf)
{
	auto_buf struct buf found = { 0 };

	buf_text(&found, "its build id is ");
	buf_hex(&found, elf->build_id, elf->build_id_size);
	buf_printf(&found, "%s, the dump has %s", elf->build_id_size ? "" : "missing",
		   h->module->build_id);
	refuse(h, path, found.data);
}

static bool take_candidate(void *context, const char *path)
{
	struct hunt *h = context;
	struct heap_file *f = h->file;
	struct elf_file elf;
	bool good;

	if (!elf_file_open(&elf, path))
		return false;
	if (*h->module->build_id) {
		good = elf.build_id_size == f->build_id_size &&
		       !memcmp(elf.build_id, f->build_id, f->build_id_size);
		if (good)
			take_loads(f, &elf);
		else
			refuse_id(h, path, &elf);
	} else {
		take_loads(f, &elf);
		good = fits(f, h->module);
		if (!good)
			refuse(h, path,
			       "its code is not where the dump has it, so it is another build");
	}
	if (good) {
		memcpy(f->build_id, elf.build_id, elf.build_id_size);
		f->build_id_size = elf.build_id_size;
		/* The search for symbols takes whole paths only. */
		h->module->file = realpath(path, NULL);
		if (!h->module->file)
			h->module->file = xstrdup(path);
	}
	elf_file_release(&elf);
	return good;
}

static bool take_under(struct hunt *h, const char *folder, const char *path)
{
	auto_free char *whole = xasprintf("%s%s%s", folder, *path == '/' ? "" : "/", path);

	return take_candidate(h, whole);
}

/* What the user calls the program: by its name, or whatever it is called if no module has that. */
static bool is_program(const struct heap_locations *p, size_t module)
{
	const char *name = p->options.program ? path_base(p->options.program) : NULL;

	if (!name || !strcmp(name, path_base(p->modules[module].path)))
		return name != NULL;
	for (size_t i = 0; i < p->module_count; i++)
		if (!strcmp(name, path_base(p->modules[i].path)))
			return false;
	return module == p->main_module;
}

/* At the path that the dump has, or where the user says that it begins now. */
static bool take_at_path(struct hunt *h)
{
	const struct heap_locations_options *o = &h->p->options;
	const char *path = h->module->path;

	for (size_t i = 0; i < o->prefix_count; i++)
		if (take_under(h, o->prefixes[i], path))
			return true;
	if (o->sysroot)
		return take_under(h, o->sysroot, path);
	if (!take_candidate(h, path))
		return false;
	h->stale = h->module->deleted && !*h->module->build_id;
	return true;
}

static bool take_beside(struct hunt *h)
{
	const struct heap_locations_options *o = &h->p->options;

	return ANY(i, o->beside_count, take_under(h, o->beside[i], path_base(h->module->path)));
}

static void take_id(struct heap_file *f, const char *digits)
{
	for (; digits[0] && digits[1] && f->build_id_size < BUILD_ID_MAX; digits += 2) {
		char pair[3] = { digits[0], digits[1], 0 };

		f->build_id[f->build_id_size++] = (uint8_t)strtoul(pair, NULL, 16);
	}
}

void heap_files_find(struct heap_locations *p, size_t module, struct search *search,
		     struct heap_file *ret)
{
	struct heap_locations_module *m = &p->modules[module];
	struct hunt h = { .p = p, .module = m, .file = ret };

	take_id(ret, m->build_id);
	h.insist = is_program(p, module);
	if (h.insist && take_candidate(&h, p->options.program))
		return;
	h.insist = false;
	if (take_at_path(&h)) {
		if (h.stale)
			warn(ret, xasprintf("%s was deleted while it was loaded, and what is there "
					    "now may be another build",
					    m->file));
		ret->insisted |= h.stale;
		return;
	}
	if (*m->build_id &&
	    search_by_build_id(search, ret->build_id, ret->build_id_size, take_candidate, &h))
		return;
	(void)(take_beside(&h) || search_by_name(search, path_base(m->path), take_candidate, &h));
}

void heap_files_use(struct heap_locations *p, size_t module, const char *path, struct heap_file *f)
{
	struct hunt h = { .p = p, .module = &p->modules[module], .file = f };

	take_candidate(&h, path);
}

uint64_t heap_files_address(const struct heap_file *f, uint64_t offset)
{
	for (size_t i = 0; i < f->load_count; i++) {
		const Elf64_Phdr *h = &f->loads[i];
		/* The kernel maps whole pages: what is before a segment's start belongs to it. */
		uint64_t from = first_page(h);

		if (offset >= from && offset - from < h->p_filesz + (h->p_offset - from))
			return offset - h->p_offset + h->p_vaddr;
	}
	return offset;
}

void heap_files_warn(struct heap_locations *p, struct heap_file *f, bool found)
{
	for (size_t i = 0; i < f->refused_count && (!found || f->insisted); i++) {
		*xpush(p->warnings, p->warning_count, p->warning_room) = f->refused[i];
		f->refused[i] = NULL;
	}
}

void heap_files_release(struct heap_file *f)
{
	for (size_t i = 0; i < f->refused_count; i++)
		free(f->refused[i]);
	free(f->refused);
	free(f->loads);
	memset(f, 0, sizeof(*f));
}
