/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Any bytes as an ELF file: its tables, what may be packed in it, and, through libdw, its functions
 * and lines.
 *
 * A recording may have been made by anybody and carry binaries, so this must end well whatever they
 * hold. */
#include <stdlib.h>

#include "base/buf.h"
#include "fuzz.h"
#include "symbols/elf_file.h"
#include "symbols/flat.h"
#include "symbols/lines.h"
#include "symbols/names.h"
#include "symbols/symbols.h"
#include "symbols/unpack.h"

#define ASKED 64
#define MINI_LIMIT (1u << 20)

static void ask(struct lines_reader *r, uint64_t address)
{
	struct symbol symbol = { 0 };

	if (lines_find(r, address, &symbol))
		symbol_release(&symbol);
}

static void try_lines(const struct elf_file *f, const struct names *names)
{
	struct lines_reader *r;
	struct lines lines;
	struct flat flat;

	if (!flat_read(&flat, f))
		return;
	if (lines_read(&lines, &flat, NULL, names, f->first_code)) {
		r = lines_reader_new(&lines);
		for (size_t i = 0; r && i < lines.ranges.count && i < ASKED; i++) {
			const struct lines_range *range = &lines.ranges.rows[i];

			ask(r, range->start);
			ask(r, range->start + (range->end - range->start) / 2);
			ask(r, range->end - 1);
		}
		lines_reader_free(r);
		lines_release(&lines);
	}
	flat_release(&flat);
}

static void try_links(const struct elf_file *f)
{
	uint8_t id[BUILD_ID_MAX];
	size_t id_size;
	uint32_t crc;

	free(elf_file_debuglink(f, &crc));
	free(elf_file_altlink(f, id, &id_size));
	elf_file_crc(f);
}

static void try_mini(const struct elf_file *f)
{
	const Elf64_Shdr *s = elf_file_section(f, ".gnu_debugdata");
	uint8_t *packed = s ? elf_file_content(f, s, MINI_LIMIT) : NULL;
	struct buf bytes = { 0 };

	if (packed)
		unpack_xz(packed, s->sh_size, &bytes, MINI_LIMIT);
	buf_release(&bytes);
	free(packed);
}

FUZZ(symbols, data, size)
{
	struct names names = { 0 };
	struct buf bytes = { 0 };
	struct elf_file f;

	buf_add(&bytes, data, size);
	if (!elf_file_memory(&f, &bytes))
		return 0;
	try_links(&f);
	try_mini(&f);
	names_add(&names, &f, SHT_SYMTAB);
	names_add(&names, &f, SHT_DYNSYM);
	names_sort(&names);
	for (size_t i = 0; i < names.count && i < ASKED; i++) {
		const char *text = names_find(&names, names.rows[i].start + 1);

		free(text ? demangle(text) : NULL);
	}
	try_lines(&f, &names);
	names_release(&names);
	elf_file_release(&f);
	return 0;
}
