/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* ELF files of 32 bits, whose tables become those of 64 bits as soon as they are read, and theirs
 * again where they are written.  ELF_NATIVE is the class of what runs here. */
#include <elf.h>
#include <link.h>
#include <string.h>

#define ELF_NATIVE (__ELF_NATIVE_CLASS == 64 ? ELFCLASS64 : ELFCLASS32)

#define ELF32_HEADER(to, from)                                                                     \
	do {                                                                                       \
		memcpy((to)->e_ident, (from)->e_ident, EI_NIDENT);                                 \
		(to)->e_type = (from)->e_type;                                                     \
		(to)->e_machine = (from)->e_machine;                                               \
		(to)->e_version = (from)->e_version;                                               \
		(to)->e_entry = (__typeof((to)->e_entry))(from)->e_entry;                          \
		(to)->e_phoff = (__typeof((to)->e_phoff))(from)->e_phoff;                          \
		(to)->e_shoff = (__typeof((to)->e_shoff))(from)->e_shoff;                          \
		(to)->e_flags = (from)->e_flags;                                                   \
		(to)->e_ehsize = (from)->e_ehsize;                                                 \
		(to)->e_phentsize = (from)->e_phentsize;                                           \
		(to)->e_phnum = (from)->e_phnum;                                                   \
		(to)->e_shentsize = (from)->e_shentsize;                                           \
		(to)->e_shnum = (from)->e_shnum;                                                   \
		(to)->e_shstrndx = (from)->e_shstrndx;                                             \
	} while (0)

#define ELF32_SEGMENT(to, from)                                                                    \
	do {                                                                                       \
		(to)->p_type = (from)->p_type;                                                     \
		(to)->p_flags = (from)->p_flags;                                                   \
		(to)->p_offset = (__typeof((to)->p_offset))(from)->p_offset;                       \
		(to)->p_vaddr = (__typeof((to)->p_vaddr))(from)->p_vaddr;                          \
		(to)->p_paddr = (__typeof((to)->p_paddr))(from)->p_paddr;                          \
		(to)->p_filesz = (__typeof((to)->p_filesz))(from)->p_filesz;                       \
		(to)->p_memsz = (__typeof((to)->p_memsz))(from)->p_memsz;                          \
		(to)->p_align = (__typeof((to)->p_align))(from)->p_align;                          \
	} while (0)

#define ELF32_SECTION(to, from)                                                                    \
	do {                                                                                       \
		(to)->sh_name = (from)->sh_name;                                                   \
		(to)->sh_type = (from)->sh_type;                                                   \
		(to)->sh_flags = (__typeof((to)->sh_flags))(from)->sh_flags;                       \
		(to)->sh_addr = (__typeof((to)->sh_addr))(from)->sh_addr;                          \
		(to)->sh_offset = (__typeof((to)->sh_offset))(from)->sh_offset;                    \
		(to)->sh_size = (__typeof((to)->sh_size))(from)->sh_size;                          \
		(to)->sh_link = (from)->sh_link;                                                   \
		(to)->sh_info = (from)->sh_info;                                                   \
		(to)->sh_addralign = (__typeof((to)->sh_addralign))(from)->sh_addralign;           \
		(to)->sh_entsize = (__typeof((to)->sh_entsize))(from)->sh_entsize;                 \
	} while (0)

static inline Elf64_Sym elf32_symbol(const Elf32_Sym *s)
{
	return (Elf64_Sym){ .st_name = s->st_name,
			    .st_info = s->st_info,
			    .st_other = s->st_other,
			    .st_shndx = s->st_shndx,
			    .st_value = s->st_value,
			    .st_size = s->st_size };
}
