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
	s->symbol_count = elf_file_symbol_count(f, table->sh_size);
	s->text_size = texts->sh_size;
	return s->symbols && s->texts;
}

static void add_relocation(struct stubs *s, uint64_t offset, size_t number)
{
	Elf64_Sym sym;

	if (!number || number >= s->symbol_count)
		return;
	sym = elf_file_symbol(s->file, s->symbols, number);
	if (sym.st_name >= s->text_size || !s->texts[sym.st_name])
		return;
	*xpush(s->slots, s->count, s->room) = (struct stub_slot){ offset, s->texts + sym.st_name };
}

static void add_narrow(struct stubs *s, const uint8_t *rows, uint64_t count)
{
	Elf32_Rel r;

	for (uint64_t n = 0; n < count; n++) {
		memcpy(&r, rows + n * sizeof(r), sizeof(r));
		add_relocation(s, r.r_offset, ELF32_R_SYM(r.r_info));
	}
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

		if (h->sh_type != (f->narrow ? SHT_REL : SHT_RELA) || !(h->sh_flags & SHF_ALLOC))
			continue;
		rows = elf_file_content(f, h, TABLE_MAX);
		if (rows && f->narrow)
			add_narrow(s, rows, h->sh_size / sizeof(Elf32_Rel));
		for (size_t n = 0; rows && !f->narrow && n < h->sh_size / sizeof(Elf64_Rela); n++) {
			Elf64_Rela r;

			memcpy(&r, rows + n * sizeof(r), sizeof(r));
			add_relocation(s, r.r_offset, ELF64_R_SYM(r.r_info));
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
	const struct instruction_set *set = instruction_set(s->file->machine);
	uint8_t code[STUB_MAX];
	uint64_t page = 0;
	size_t size;

	*ret_name = NULL;
	if (!h || !set)
		return false;
	size = h->sh_size - (address - h->sh_addr);
	size = MIN(size, sizeof(code));
	if (!elf_file_read(s->file, h->sh_offset + (address - h->sh_addr), code, size))
		return true;
	for (size_t at = 0; at < size;) {
		struct instruction in;
		const struct stub_slot *slot;

		set->read(&in, code + at, size - at, address + at);
		at += in.size;
		if (in.page)
			page = in.adds ? page + in.added : in.target;
		else if (page && in.adds)
			in.target = page + in.added;
		if (in.page || (!in.refers && !(page && in.adds)))
			continue;
		slot = s->count ? bsearch(&(struct stub_slot){ .address = in.target }, s->slots,
					  s->count, sizeof(*s->slots), by_address)
				: NULL;
		*ret_name = slot ? slot->name : NULL;
		break;
	}
	return true;
}
