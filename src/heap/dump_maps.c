/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Maps without a dump: of a process, or of a program that needs none.  See dump.h. */
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "heap/dump.h"
#include "symbols/elf_file.h"

int dump_read_maps(struct dump *d, const char *maps, size_t size, struct err *err)
{
	auto_buf struct buf whole = { 0 };

	buf_text(&whole, "heap_v2/1\n\nMAPPED_LIBRARIES:\n");
	buf_add(&whole, maps, size);
	return dump_read(d, whole.data, whole.size, err);
}

bool dump_read_program(struct dump *d, const char *path)
{
	auto_buf struct buf maps = { 0 };
	struct elf_file elf;
	Elf64_Ehdr head;
	Elf64_Phdr h;
	bool found;

	if (!elf_file_open(&elf, path))
		return false;
	if (elf_file_header(&elf, &head) && head.e_type == ET_EXEC)
		for (unsigned i = 0; elf_file_segment(&elf, &head, i, &h); i++)
			if (h.p_type == PT_LOAD && h.p_flags & PF_X)
				buf_printf(&maps, "%llx-%llx r-xp %llx 0:0 0 %s\n",
					   h.p_vaddr & ~0xfffull,
					   (h.p_vaddr + h.p_filesz + 0xfff) & ~0xfffull,
					   h.p_offset & ~0xfffull, path);
	elf_file_release(&elf);
	found = maps.size && !dump_read_maps(d, maps.data, maps.size, NULL);
	return found;
}
