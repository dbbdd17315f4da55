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

static const struct hook_row *row_named(const char *name)
{
	for (unsigned i = 0; i < hook_row_count; i++)
		if (!strcmp(hook_rows[i].name, name))
			return &hook_rows[i];
	return NULL;
}

static void write_slot(uint64_t *slot, void *value)
{
	uint64_t page = page_down((uint64_t)slot);

	/* After relocation most tables are read-only; those that are not stay writable. */
	if (SYS(SYS_mprotect, page, arch_page(), PROT_READ | PROT_WRITE))
		return;
	*slot = (uint64_t)value;
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

static void redirect_image(const struct link_map *map, const struct elf_image *image)
{
	for (int table = 0; table < 2; table++) {
		uint64_t n = image->rela[table] ? image->rela_size[table] / sizeof(ElfW(Rela)) : 0;

		for (uint64_t i = 0; i < n; i++) {
			const ElfW(Rela) *r = &image->rela[table][i];
			unsigned type = ELF64_R_TYPE(r->r_info);
			const struct hook_row *row;
			uint64_t *slot;

			if (type != ARCH_RELOCATION_CALL && type != ARCH_RELOCATION_SLOT &&
			    (type != ARCH_RELOCATION_DATA || r->r_addend))
				continue;
			row = row_named(image->strings +
					image->symbols[ELF64_R_SYM(r->r_info)].st_name);
			if (!row || !*row->real || (row->exported && !real_comes_first))
				continue;
			slot = (uint64_t *)(map->l_addr + r->r_offset);
			/* Bound elsewhere: the program's own, or another version. */
			if (*slot != (uint64_t)*row->real && type != ARCH_RELOCATION_CALL)
				continue;
			if (*slot == (uint64_t)row->hook)
				continue;
			write_slot(slot, row->hook);
			if (in_relro(map, (uint64_t)slot))
				SYS(SYS_mprotect, page_down((uint64_t)slot), arch_page(),
				    PROT_READ);
		}
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
			redirect_image(map, &image);
}
