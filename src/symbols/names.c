/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Symbol tables.  See names.h. */
#include "symbols/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static bool is_function(const GElf_Sym *sym, const char *text)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !sym->st_value || !text || !*text || *text == '$')
		return false;
	/* Assembly often forgets the type. */
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && sym->st_shndx < SHN_LORESERVE);
}

static bool read_table(struct names *n, Elf *elf, unsigned wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(section, &header) || header.sh_type != wanted ||
		    !header.sh_entsize || !(data = elf_getdata(section, NULL)))
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			const char *text = elf_strptr(elf, header.sh_link, sym.st_name);

			if (!is_function(&sym, text))
				continue;
			n->rows = xgrow(n->rows, n->count, &n->room, sizeof(*n->rows));
			n->rows[n->count++] = (struct name){
				sym.st_value,
				sym.st_size,
				text,
				GELF_ST_BIND(sym.st_info) == STB_LOCAL,
			};
		}
		if (n->count)
			return true;
	}
	return false;
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

void names_read(struct names *n, Elf *debug, Elf *elf)
{
	size_t kept = 0;

	memset(n, 0, sizeof(*n));
	n->full = (debug && read_table(n, debug, SHT_SYMTAB)) ||
		  (elf && read_table(n, elf, SHT_SYMTAB));
	if (!n->full && elf)
		read_table(n, elf, SHT_DYNSYM);
	if (n->count)
		qsort(n->rows, n->count, sizeof(*n->rows), compare);
	for (size_t i = 0; i < n->count; i++)
		if (!kept || n->rows[kept - 1].start != n->rows[i].start)
			n->rows[kept++] = n->rows[i];
	n->count = kept;
}

void names_release(struct names *n)
{
	free(n->rows);
	memset(n, 0, sizeof(*n));
}

const char *names_find(const struct names *n, uint64_t address)
{
	size_t low = 0, high = n->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (n->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A few steps back: a label inside a function hides it. */
	for (size_t i = low, steps = 0; i-- > 0 && steps < 8; steps++) {
		const struct name *row = &n->rows[i];

		if (address - row->start < row->size)
			return row->text;
		if (!row->size && steps == 0 && n->full && address - row->start < 65536)
			return row->text;
	}
	return NULL;
}
