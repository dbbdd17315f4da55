/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ELF headers and notes.  See elf.h. */
#include "collector/elf.h"
#include "wire/arch.h"
#include "wire/elf32.h"

#include <elf.h>
#include <string.h>

static bool header(const uint8_t *bytes, size_t size, ElfW(Ehdr) * ret_header)
{
	if (size < sizeof(*ret_header) || memcmp(bytes, ELFMAG, SELFMAG))
		return false;
	memcpy(ret_header, bytes, sizeof(*ret_header));
	return true;
}

static bool segment(const uint8_t *bytes, size_t size, const ElfW(Ehdr) * h, unsigned i,
		    ElfW(Phdr) * ret_segment)
{
	if (i >= h->e_phnum || h->e_phentsize != sizeof(*ret_segment) || h->e_phoff > size ||
	    size - h->e_phoff < (size_t)(i + 1) * sizeof(*ret_segment))
		return false;
	memcpy(ret_segment, bytes + h->e_phoff + i * sizeof(*ret_segment), sizeof(*ret_segment));
	return true;
}

enum elf_kind elf_kind_of(const uint8_t *bytes, size_t size)
{
	ElfW(Ehdr) h;
	ElfW(Phdr) s;
	bool dynamic = false;

	if (!header(bytes, size, &h))
		return ELF_NONE;
	if (h.e_ident[EI_CLASS] != ELF_NATIVE || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_machine != ARCH_ELF_MACHINE)
		return ELF_FOREIGN;
	for (unsigned i = 0; segment(bytes, size, &h, i, &s); i++) {
		if (s.p_type == PT_INTERP)
			return ELF_DYNAMIC;
		dynamic |= s.p_type == PT_DYNAMIC;
	}
	/* A static-pie has a dynamic section too; it is told from a library by its entry. */
	return h.e_type == ET_DYN && dynamic && !h.e_entry ? ELF_LIBRARY : ELF_STATIC;
}

bool elf_notes(const uint8_t *bytes, size_t size, unsigned n, struct elf_notes *ret_notes)
{
	ElfW(Ehdr) h;
	ElfW(Phdr) s;

	if (!header(bytes, size, &h) || h.e_ident[EI_CLASS] != ELF_NATIVE)
		return false;
	for (unsigned i = 0; segment(bytes, size, &h, i, &s); i++) {
		if (s.p_type != PT_NOTE || n--)
			continue;
		*ret_notes = (struct elf_notes){ s.p_offset, s.p_filesz };
		return true;
	}
	return false;
}

const uint8_t *elf_note(const uint8_t *notes, size_t size, const char *wanted, uint32_t type,
			size_t *ret_size)
{
	size_t wanted_size = strlen(wanted) + 1;

	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name, data;

		memcpy(&n, notes, sizeof(n));
		name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
		data = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (name > size - sizeof(n) || data > size - sizeof(n) - name)
			return NULL;
		if (n.n_type == type && n.n_namesz == wanted_size && n.n_descsz &&
		    !memcmp(notes + sizeof(n), wanted, wanted_size)) {
			*ret_size = n.n_descsz;
			return notes + sizeof(n) + name;
		}
		notes += sizeof(n) + name + data;
		size -= sizeof(n) + name + data;
	}
	return NULL;
}

const uint8_t *elf_build_id(const uint8_t *notes, size_t size, size_t *ret_size)
{
	return elf_note(notes, size, "GNU", NT_GNU_BUILD_ID, ret_size);
}
