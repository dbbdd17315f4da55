/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stubs.  See stubs.h. */
#include "heap/stubs.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "heap/instructions.h"

#define TABLE_MAX (256u << 20)
#define STUB_MAX 16 /* bytes of one */

struct stub_slot {
	uint64_t address;
	const char *name;
};

struct stubs {
	const struct elf_file *file;
	uint8_t *symbols;
	char *texts;
	size_t symbol_count, text_size;
	struct stub_slot *slots; /* by address */
	size_t count, room;
};

ORDER(by_address, struct stub_slot, RISING(address))

static bool read_symbols(struct stubs *s)
{
	const struct elf_file *f = s->file;
	const Elf64_Shdr *table = elf_file_section_of_type(f, SHT_DYNSYM), *texts;

	if (!table || table->sh_link >= f->count)
		return false;
	texts = &f->sections[table->sh_link];
	if (texts->sh_type != SHT_STRTAB)
		return false;
	s->symbols = elf_file_content(f, table, TABLE_MAX);
	s->texts = (char *)elf_file_content(f, texts, TABLE_MAX);
	s->symbol_count = table->sh_size / sizeof(Elf64_Sym);
	s->text_size = texts->sh_size;
	return s->symbols && s->texts;
}

static void add_relocation(struct stubs *s, const Elf64_Rela *r)
{
	size_t number = ELF64_R_SYM(r->r_info);
	Elf64_Sym sym;

	if (!number || number >= s->symbol_count)
		return;
	memcpy(&sym, s->symbols + number * sizeof(sym), sizeof(sym));
	if (sym.st_name >= s->text_size || !s->texts[sym.st_name])
		return;
	*xpush(s->slots, s->count, s->room) =
		(struct stub_slot){ r->r_offset, s->texts + sym.st_name };
}

struct stubs *stubs_new(const struct elf_file *f)
{
	struct stubs *s = xcalloc(1, sizeof(*s));

	s->file = f;
	if (!read_symbols(s))
		return s;
	for (uint32_t i = 0; i < f->count; i++) {
		const Elf64_Shdr *h = &f->sections[i];
		auto_free uint8_t *rows = NULL;

		if (h->sh_type != SHT_RELA || !(h->sh_flags & SHF_ALLOC))
			continue;
		rows = elf_file_content(f, h, TABLE_MAX);
		for (size_t n = 0; rows && n < h->sh_size / sizeof(Elf64_Rela); n++) {
			Elf64_Rela r;

			memcpy(&r, rows + n * sizeof(r), sizeof(r));
			add_relocation(s, &r);
		}
	}
	SORT(s->slots, s->count, by_address);
	return s;
}

struct stubs *stubs_free(struct stubs *s)
{
	if (!s)
		return NULL;
	free(s->symbols);
	free(s->texts);
	free(s->slots);
	free(s);
	return NULL;
}

static const Elf64_Shdr *section_of(const struct elf_file *f, uint64_t address)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const Elf64_Shdr *h = &f->sections[i];

		if (f->names[i] && !strncmp(f->names[i], ".plt", 4) && h->sh_type == SHT_PROGBITS &&
		    address >= h->sh_addr && address - h->sh_addr < h->sh_size)
			return h;
	}
	return NULL;
}

bool stubs_find(const struct stubs *s, uint64_t address, const char **ret_name)
{
	const Elf64_Shdr *h = section_of(s->file, address);
	uint8_t code[STUB_MAX];
	size_t size;

	*ret_name = NULL;
	if (!h)
		return false;
	size = h->sh_size - (address - h->sh_addr);
	size = MIN(size, sizeof(code));
	if (!elf_file_read(s->file, h->sh_offset + (address - h->sh_addr), code, size))
		return true;
	for (size_t at = 0; at < size;) {
		struct instruction in;
		const struct stub_slot *slot;

		instruction_read(&in, code + at, size - at, address + at);
		at += in.size;
		if (!in.refers)
			continue;
		slot = s->count ? bsearch(&(struct stub_slot){ .address = in.target }, s->slots,
					  s->count, sizeof(*s->slots), by_address)
				: NULL;
		*ret_name = slot ? slot->name : NULL;
		break;
	}
	return true;
}
