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
#include "recorder/sys.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct image {
	uint64_t bias;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *rela[2];
	uint64_t rela_size[2];
};

static uint64_t absolute(const struct link_map *map, uint64_t p)
{
	return p < map->l_addr ? p + map->l_addr : p; /* the vdso's are not relocated */
}

static bool read_dynamic(const struct link_map *map, struct image *image)
{
	*image = (struct image){ .bias = map->l_addr };
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		uint64_t p = absolute(map, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB:
			image->symbols = (const void *)p;
			break;
		case DT_STRTAB:
			image->strings = (const void *)p;
			break;
		case DT_RELA:
			image->rela[0] = (const void *)p;
			break;
		case DT_RELASZ:
			image->rela_size[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			image->rela[1] = (const void *)p;
			break;
		case DT_PLTRELSZ:
			image->rela_size[1] = d->d_un.d_val;
			break;
		}
	}
	return image->symbols && image->strings;
}

static const struct hook_row *row_named(const char *name)
{
	for (unsigned i = 0; i < hook_row_count; i++)
		if (!strcmp(hook_rows[i].name, name))
			return &hook_rows[i];
	return NULL;
}

static void write_slot(uint64_t *slot, void *value)
{
	uint64_t page = (uint64_t)slot & ~4095ull;

	/* After relocation most tables are read-only; those that are not stay writable. */
	if (SYS(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE))
		return;
	*slot = (uint64_t)value;
}

static bool in_relro(const struct link_map *map, uint64_t at)
{
	const ElfW(Ehdr) *e = (const void *)map->l_addr;

	if (!map->l_addr || memcmp(e->e_ident, ELFMAG, SELFMAG))
		return false;
	for (unsigned i = 0; i < e->e_phnum; i++) {
		const ElfW(Phdr) *p = (const ElfW(Phdr) *)(map->l_addr + e->e_phoff) + i;

		if (p->p_type == PT_GNU_RELRO &&
		    at - (map->l_addr + p->p_vaddr) < ((p->p_memsz + 4095) & ~4095ull))
			return true;
	}
	return false;
}

static void redirect_image(const struct link_map *map, const struct image *image)
{
	for (int table = 0; table < 2; table++) {
		uint64_t n = image->rela[table] ? image->rela_size[table] / sizeof(ElfW(Rela)) : 0;

		for (uint64_t i = 0; i < n; i++) {
			const ElfW(Rela) *r = &image->rela[table][i];
			unsigned type = ELF64_R_TYPE(r->r_info);
			const struct hook_row *row;
			uint64_t *slot;

			if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
			    (type != R_X86_64_64 || r->r_addend))
				continue;
			row = row_named(image->strings +
					image->symbols[ELF64_R_SYM(r->r_info)].st_name);
			if (!row || !*row->real || (row->exported && !real_comes_first))
				continue;
			slot = (uint64_t *)(image->bias + r->r_offset);
			/* Bound elsewhere: the program's own, or another version. */
			if (*slot != (uint64_t)*row->real && type != R_X86_64_JUMP_SLOT)
				continue;
			if (*slot == (uint64_t)row->hook)
				continue;
			write_slot(slot, row->hook);
			if (in_relro(map, (uint64_t)slot))
				SYS(SYS_mprotect, (uint64_t)slot & ~4095ull, 4096, PROT_READ);
		}
	}
}

static bool inside(const struct link_map *map, uint64_t start, uint64_t size)
{
	return (uint64_t)map->l_ld - start < size;
}

void redirect_callers(void)
{
	struct image image;

	if (rt.glibc && !real_comes_first)
		return;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (inside(map, rt.allocator_low, rt.allocator_size) || !map->l_ld ||
		    strstr(map->l_name, "libmemoir.so") || strstr(map->l_name, "linux-vdso"))
			continue;
		if (read_dynamic(map, &image))
			redirect_image(map, &image);
	}
}
