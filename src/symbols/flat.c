/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making the image.  See flat.h. */
#include "symbols/flat.h"

#include <endian.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbols/unpack.h"
#include "wire/debug_sections.h"

#define ALIGNMENT 16
/* Debug information shrinks to a third or so; more than this is an attack. */
#define RATIO_MAX 64
#define SMALL (64u << 20)
#define SIZE_LIMIT ((size_t)(sizeof(size_t) < 8 ? 1ull << 30 : 64ull << 30))
#define OLD_HEAD 12 /* of a .zdebug section: "ZLIB", size in big-endian */

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum packing { PLAIN, ZLIB, ZSTD };

struct part {
	const Elf64_Shdr *section; /* NULL: not there */
	enum packing packing;
	uint64_t skip; /* bytes before the packed ones */
	uint64_t size; /* unpacked */
	uint64_t at;   /* in the image */
};

static const Elf64_Shdr *find_section(const struct elf_file *f, const char *word, bool *ret_old)
{
	char name[32] = ".debug_";
	const Elf64_Shdr *s;

	strcat(name, word);
	s = elf_file_section(f, name);
	*ret_old = false;
	if (s)
		return s;
	strcpy(name, ".zdebug_");
	strcat(name, word);
	*ret_old = true;
	return elf_file_section(f, name);
}

bool flat_possible(const struct elf_file *f)
{
	bool old;

	return find_section(f, "info", &old) != NULL;
}

static bool read_compression(const struct elf_file *f, const Elf64_Shdr *s, Elf64_Chdr *ret_head,
			     uint64_t *ret_size)
{
	Elf32_Chdr narrow;

	*ret_size = f->narrow ? sizeof(narrow) : sizeof(*ret_head);
	if (s->sh_size < *ret_size)
		return false;
	if (!f->narrow)
		return elf_file_read(f, s->sh_offset, ret_head, sizeof(*ret_head));
	if (!elf_file_read(f, s->sh_offset, &narrow, sizeof(narrow)))
		return false;
	ret_head->ch_type = narrow.ch_type;
	ret_head->ch_size = narrow.ch_size;
	return true;
}

static bool measure(const struct elf_file *f, const char *word, struct part *p)
{
	Elf64_Chdr head;
	uint8_t old_head[OLD_HEAD];
	bool old;
	const Elf64_Shdr *s = find_section(f, word, &old);

	memset(p, 0, sizeof(*p));
	p->section = s;
	if (!s)
		return true;
	p->size = s->sh_size;
	if (old) {
		if (s->sh_size < OLD_HEAD || !elf_file_read(f, s->sh_offset, old_head, OLD_HEAD) ||
		    memcmp(old_head, "ZLIB", 4) != 0)
			return false;
		memcpy(&p->size, old_head + 4, 8);
		p->size = be64toh(p->size);
		p->packing = ZLIB;
		p->skip = OLD_HEAD;
	} else if (s->sh_flags & SHF_COMPRESSED) {
		if (!read_compression(f, s, &head, &p->skip))
			return false;
		if (head.ch_type != ELFCOMPRESS_ZLIB && head.ch_type != ELFCOMPRESS_ZSTD)
			return false;
		p->size = head.ch_size;
		p->packing = head.ch_type == ELFCOMPRESS_ZLIB ? ZLIB : ZSTD;
	}
	return p->size <= SIZE_LIMIT;
}

static bool fill_image(const struct elf_file *f, const struct part *p, char *image)
{
	auto_free uint8_t *packed = NULL;
	size_t size = p->section->sh_size - p->skip;

	if (p->packing == PLAIN)
		return elf_file_read(f, p->section->sh_offset, image + p->at, p->size);
	packed = elf_file_content(f, p->section, SIZE_LIMIT);
	if (!packed)
		return false;
	return p->packing == ZLIB ? unpack_zlib(packed + p->skip, size, image + p->at, p->size)
				  : unpack_zstd(packed + p->skip, size, image + p->at, p->size);
}

static uint64_t aligned(uint64_t at)
{
	return (at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Head, section headers (one empty, the parts, the names), names. */
static void write_head(const struct part *parts, uint16_t machine, char *image)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)image;
	Elf64_Shdr *rows = (Elf64_Shdr *)(image + sizeof(*head)), *row = rows + 1;
	char *names = (char *)(rows + DEBUG_SECTIONS + 2);
	uint32_t name = 1;

	for (unsigned i = 0; i < DEBUG_SECTIONS; i++) {
		if (!parts[i].section)
			continue;
		*row++ = (Elf64_Shdr){ .sh_name = name,
				       .sh_type = SHT_PROGBITS,
				       .sh_offset = parts[i].at,
				       .sh_size = parts[i].size,
				       .sh_addralign = 1 };
		strcpy(names + name, ".debug_");
		strcat(names + name, debug_sections[i]);
		name += (uint32_t)strlen(names + name) + 1;
	}
	*row = (Elf64_Shdr){ .sh_name = 0,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = (uint64_t)(names - image),
			     .sh_size = name,
			     .sh_addralign = 1 };
	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_ident[EI_VERSION] = EV_CURRENT;
	head->e_type = ET_EXEC;
	head->e_machine = machine;
	head->e_version = EV_CURRENT;
	head->e_ehsize = sizeof(*head);
	head->e_shoff = sizeof(*head);
	head->e_shentsize = sizeof(*row);
	head->e_shnum = (uint16_t)(row - rows + 1);
	head->e_shstrndx = (uint16_t)(row - rows);
}

bool flat_read(struct flat *flat, const struct elf_file *f)
{
	struct part parts[DEBUG_SECTIONS];
	uint64_t at = aligned(sizeof(Elf64_Ehdr) + (DEBUG_SECTIONS + 2) * sizeof(Elf64_Shdr) +
			      DEBUG_SECTIONS * 24);

	memset(flat, 0, sizeof(*flat));
	if (!flat_possible(f))
		return false;
	for (unsigned i = 0; i < DEBUG_SECTIONS; i++) {
		if (!measure(f, debug_sections[i], &parts[i]))
			return false;
		parts[i].at = at;
		/* A NUL behind each, since some end in a text. */
		at = aligned(at + parts[i].size + 1);
	}
	if (at > SMALL + f->size * RATIO_MAX || at > SIZE_LIMIT)
		return false;
	flat->size = at;
	flat->bytes = pages_grow(NULL, 0, at);
	/* The disk reads the next section while the one before is unpacked. */
	for (unsigned i = 0; i < DEBUG_SECTIONS; i++)
		if (parts[i].section)
			elf_file_foresee(f, parts[i].section);
	for (unsigned i = 0; i < DEBUG_SECTIONS; i++)
		if (parts[i].section && !fill_image(f, &parts[i], flat->bytes)) {
			flat_release(flat);
			return false;
		}
	write_head(parts, f->machine, flat->bytes);
	return true;
}

void flat_release(struct flat *flat)
{
	pages_free(flat->bytes, flat->size);
	memset(flat, 0, sizeof(*flat));
}
