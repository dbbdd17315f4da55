/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Symbol tables.  See names.h. */
#include "symbols/names.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

#define TABLE_MAX ((size_t)(sizeof(size_t) < 8 ? 1ull << 30 : 4ull << 30))
#define STEPS_MAX 256	  /* back from an address to the function that holds it */
#define LABEL_REACH 65536 /* what a name without a size may stand for */

static bool is_function(const Elf64_Sym *sym, const char *text)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !sym->st_value || !*text || *text == '$')
		return false;
	/* Assembly often forgets the type. */
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && sym->st_shndx < SHN_LORESERVE);
}

static void names_add_symbol(struct names *n, const Elf64_Sym *sym, const char *text)
{
	*xpush(n->rows, n->count, n->room) = (struct name){
		.start = sym->st_value,
		.size = sym->st_size,
		.text = text,
		.local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL,
	};
}

bool names_add(struct names *n, const struct elf_file *f, uint32_t table)
{
	const Elf64_Shdr *s = elf_file_section_of_type(f, table), *t;
	auto_free uint8_t *symbols = NULL;
	char *texts;
	size_t before = n->count;

	if (!s || s->sh_link >= f->count || f->sections[s->sh_link].sh_type != SHT_STRTAB)
		return false;
	t = &f->sections[s->sh_link];
	symbols = elf_file_content(f, s, TABLE_MAX);
	texts = (char *)elf_file_content(f, t, TABLE_MAX);
	if (!symbols || !texts) {
		free(texts);
		return false;
	}
	*xpush(n->tables, n->table_count, n->table_room) = texts;
	for (size_t i = 0; i < elf_file_symbol_count(f, s->sh_size); i++) {
		Elf64_Sym sym = elf_file_symbol(f, symbols, i);

		if (sym.st_name < t->sh_size && is_function(&sym, texts + sym.st_name))
			names_add_symbol(n, &sym, texts + sym.st_name);
	}
	if (table == SHT_SYMTAB && n->count > before)
		n->full = true;
	return n->count > before;
}

/* Of several names for one address the best is first: with a size, exported, plain. */
static int compare(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	size_t ux, uy;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if (x->local != y->local)
		return x->local ? 1 : -1;
	ux = strspn(x->text, "_");
	uy = strspn(y->text, "_");
	if (ux != uy)
		return ux < uy ? -1 : 1;
	return strcmp(x->text, y->text);
}

void names_sort(struct names *n)
{
	size_t remaining = 0;
	uint64_t reach = 0;

	SORT(n->rows, n->count, compare);
	for (size_t i = 0; i < n->count; i++)
		if (!remaining || n->rows[remaining - 1].start != n->rows[i].start)
			n->rows[remaining++] = n->rows[i];
	n->count = remaining;
	for (size_t i = 0; i < remaining; i++) {
		uint64_t end = n->rows[i].start + n->rows[i].size;

		if (end > reach && end >= n->rows[i].start)
			reach = end;
		n->rows[i].reach = reach;
	}
}

void names_release(struct names *n)
{
	for (size_t i = 0; i < n->table_count; i++)
		free(n->tables[i]);
	free(n->tables);
	free(n->rows);
	memset(n, 0, sizeof(*n));
}

/* How many start at or before an address. */
static size_t up_to(const struct names *n, uint64_t address)
{
	return FIRST_WHERE(i, n->count, n->rows[i].start > address);
}

const struct name *names_row(const struct names *n, uint64_t address)
{
	size_t last = up_to(n, address);
	const struct name *label;

	if (!last)
		return NULL;
	/* A label inside a function hides it, so there may be some to step over. */
	for (size_t i = last, steps = 0; i-- > 0 && steps < STEPS_MAX; steps++) {
		const struct name *row = &n->rows[i];

		if (address - row->start < row->size)
			return row;
		if (row->reach <= address)
			break;
	}
	label = &n->rows[last - 1];
	return !label->size && n->full && address - label->start < LABEL_REACH ? label : NULL;
}

const char *names_find(const struct names *n, uint64_t address)
{
	const struct name *row = names_row(n, address);

	return row ? row->text : NULL;
}

uint64_t names_end(const struct names *n, const struct name *row)
{
	const struct name *next = row + 1;

	if (row->size)
		return row->start + row->size;
	if (next == n->rows + n->count || next->start - row->start > LABEL_REACH)
		return row->start + LABEL_REACH;
	return next->start;
}

const char *names_starting_at(const struct names *n, uint64_t address)
{
	size_t last = up_to(n, address);

	return last && n->rows[last - 1].start == address ? n->rows[last - 1].text : NULL;
}
