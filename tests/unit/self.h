/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The test program itself as a module: its path, where it lies, its build id. */
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct self {
	char path[4096];
	uint64_t bias;
	uint8_t build_id[64];
	size_t build_id_size;
};

static inline void self_take_build_id(struct self *s, const uint8_t *notes, size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)notes;
		size_t name = (n->n_namesz + 3) & ~3u, desc = (n->n_descsz + 3) & ~3u;

		if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz <= sizeof(s->build_id)) {
			s->build_id_size = n->n_descsz;
			memcpy(s->build_id, notes + sizeof(*n) + name, s->build_id_size);
		}
		if (size < sizeof(*n) + name + desc)
			return;
		notes += sizeof(*n) + name + desc;
		size -= sizeof(*n) + name + desc;
	}
}

static inline int self_first_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self *s = context;

	s->bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			self_take_build_id(
				s, (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				info->dlpi_phdr[i].p_memsz);
	return 1;
}

/* 0, or -1 where the program does not even know its own path. */
static inline int self_find(struct self *s)
{
	memset(s, 0, sizeof(*s));
	if (readlink("/proc/self/exe", s->path, sizeof(s->path) - 1) < 0)
		return -1;
	dl_iterate_phdr(self_first_object, s);
	return 0;
}
