/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program headers of loaded files.
 *
 * The loader maps a library as one piece, gaps between its segments included, so that its header is
 * where the piece starts.  The program is mapped by the kernel, and where it has gaps
 * _dl_find_object() tells of one segment only: its headers are where the kernel says (AT_PHDR).
 * They are believed if they lead to the dynamic section that the loader has.
 *
 * Reads only; at the start, and under the recorder's lock when a file is met for the first time. */
#include "recorder/segments.h"

#include <elf.h>
#include <string.h>

#include "recorder/rt.h"

static const ElfW(Phdr) * program;
static uint32_t program_count;

void segments_init(void)
{
	char **end = rt_environment();
	const ElfW(auxv_t) * a;

	if (program)
		return;
	while (*end)
		end++;
	for (a = (const void *)(end + 1); a->a_type != AT_NULL; a++) {
		if (a->a_type == AT_PHDR)
			program = (const void *)a->a_un.a_val;
		else if (a->a_type == AT_PHNUM)
			program_count = (uint32_t)a->a_un.a_val;
	}
}

static bool are_those_of(const ElfW(Phdr) * p, uint32_t count, const struct link_map *map)
{
	for (uint32_t i = 0; i < count; i++)
		if (p[i].p_type == PT_DYNAMIC)
			return map->l_addr + p[i].p_vaddr == (uintptr_t)map->l_ld;
	return false;
}

static const ElfW(Phdr) * behind_header(const struct dl_find_object *o, uint32_t *ret_count)
{
	const ElfW(Ehdr) *e = o->dlfo_map_start;
	uint64_t room = (uintptr_t)o->dlfo_map_end - (uintptr_t)o->dlfo_map_start;

	if (room < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_phentsize != sizeof(ElfW(Phdr)) || e->e_phoff > room ||
	    e->e_phnum * sizeof(ElfW(Phdr)) > room - e->e_phoff)
		return NULL;
	*ret_count = e->e_phnum;
	return (const void *)((const char *)e + e->e_phoff);
}

const ElfW(Phdr) * segments_of(const struct dl_find_object *o, uint32_t *ret_count)
{
	const struct link_map *map = o->dlfo_link_map;
	const ElfW(Phdr) * p;
	struct dl_find_object with_headers;

	*ret_count = program_count;
	if (map == _r_debug.r_map && program && !_dl_find_object((void *)program, &with_headers) &&
	    with_headers.dlfo_link_map == map && are_those_of(program, program_count, map))
		return program;
	p = behind_header(o, ret_count);
	if (p && are_those_of(p, *ret_count, map))
		return p;
	*ret_count = 0;
	return NULL;
}
