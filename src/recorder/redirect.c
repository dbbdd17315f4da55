/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callers that the loader bound past us.
 *
 * Two cases.  An allocator was preloaded before us: then all its functions come first in lookup
 * order, and every reference to them is redirected.  Or the allocator underneath has functions that
 * libc has not (mallocx, operator new of its own), which we do not export because a program may ask
 * for them: references to those are redirected.  What is changed is the slot in the caller's own
 * table, as the loader would have filled it.
 *
 * Runs in our constructor, before all others and before any thread. */
#include "recorder/real.h"
#include "recorder/segments.h"
#include "recorder/sys.h"

#include <elf.h>
#include <string.h>

#if !defined(ARCH_RELOCATION_TYPE) && __ELF_NATIVE_CLASS == 64
#define ARCH_RELOCATION_TYPE(info) ELF64_R_TYPE(info)
#define ARCH_RELOCATION_SYMBOL(info) ELF64_R_SYM(info)
#elif !defined(ARCH_RELOCATION_TYPE)
#define ARCH_RELOCATION_TYPE(info) ELF32_R_TYPE(info)
#define ARCH_RELOCATION_SYMBOL(info) ELF32_R_SYM(info)
#endif

static const struct hook_row *row_named(const char *name)
{
	char room[HOOK_SYMBOL_MAX];

	for (unsigned i = 0; i < hook_row_count; i++)
		if (!strcmp(hook_symbol(&hook_rows[i], room), name))
			return &hook_rows[i];
	return NULL;
}

static void write_slot(uintptr_t *slot, void *value)
{
	uint64_t page = page_down((uintptr_t)slot);

	/* After relocation most tables are read-only; those that are not stay writable. */
	if (SYS(SYS_mprotect, page, arch_page(), PROT_READ | PROT_WRITE))
		return;
	*slot = (uintptr_t)value;
}

/* Did the loader make the slot's page read-only?  It does that to whole pages only. */
static bool in_relro(const struct link_map *map, uint64_t at)
{
	const ElfW(Phdr) * segments, *p;
	struct dl_find_object o;
	uint32_t count;

	if (!_dl_find_object || _dl_find_object((void *)map->l_ld, &o))
		return false;
	segments = segments_of(&o, &count);
	for (p = segments; p < segments + count; p++) {
		uint64_t start = map->l_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO && at >= start && at < page_down(start + p->p_memsz))
			return true;
	}
	return false;
}

/* A slot of the symbol; `later`: it may not be bound yet. */
static void redirect_slot(const struct elf_image *image, uint32_t symbol, uintptr_t *slot,
			  bool later)
{
	const struct link_map *map = image->map;
	const struct hook_row *row = row_named(image->strings + image->symbols[symbol].st_name);

	if (!row || !*row->real || (row->exported && !real_comes_first))
		return;
	/* Bound elsewhere: the program's own, or another version. */
	if (*slot != (uintptr_t)*row->real && !later)
		return;
	if (*slot == (uintptr_t)row->hook)
		return;
	write_slot(slot, row->hook);
	if (in_relro(map, (uintptr_t)slot))
		SYS(SYS_mprotect, page_down((uintptr_t)slot), arch_page(), PROT_READ);
}

static void redirect_relocation(const struct elf_image *image, uint64_t info, uint64_t offset,
				bool adds)
{
	unsigned type = ARCH_RELOCATION_TYPE(info);

	if (type == ARCH_RELOCATION_CALL || type == ARCH_RELOCATION_SLOT ||
	    (type == ARCH_RELOCATION_DATA && !adds))
		redirect_slot(image, ARCH_RELOCATION_SYMBOL(info),
			      (uintptr_t *)(uintptr_t)(image->map->l_addr + offset),
			      type == ARCH_RELOCATION_CALL);
}

static void redirect_image(const struct elf_image *image)
{
	for (int table = 0; table < 2; table++) {
		const ElfW(Rela) *rela = image->rela[table];
		const ElfW(Rel) *rel = image->rel[table];
		uint64_t n = rela ? image->rela_size[table] / sizeof(*rela) : 0;

		for (uint64_t i = 0; i < n; i++)
			redirect_relocation(image, rela[i].r_info, rela[i].r_offset,
					    rela[i].r_addend);
		n = rel ? image->rel_size[table] / sizeof(*rel) : 0;
		for (uint64_t i = 0; i < n; i++)
			redirect_relocation(image, rel[i].r_info, rel[i].r_offset, false);
	}
	/* Until it is bound such a slot leads to the symbol's own stub. */
	for (uint64_t i = image->got_symbol; image->got && i < image->symbol_count; i++) {
		const ElfW(Sym) *s = &image->symbols[i];
		uintptr_t *slot = &image->got[image->got_first + i - image->got_symbol];

		redirect_slot(image, (uint32_t)i, slot,
			      s->st_shndx == SHN_UNDEF && s->st_value &&
				      *slot == image->map->l_addr + s->st_value);
	}
}

void redirect_callers(void)
{
	struct elf_image image;

	if (rt.glibc && !real_comes_first)
		return;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (map != real_map && elf_read(map, &image) &&
		    elf_find(&image, hook_rows[0].name) != hook_rows[0].hook)
			redirect_image(&image);
}
