/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which unit, and which function in it.  See lines.h; functions to text is in describe.c.
 *
 * The units' ranges are collected from the units themselves, since .debug_aranges is optional and
 * clang leaves it out; a unit's functions are collected when an address in it is first asked for.
 */
#include "symbols/lines.h"

#include <dwarf.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "symbols/describe.h"

#define DEPTH_MAX 64   /* of nesting */
#define STEPS_MAX 1024 /* back from an address to the range that holds it */
#define UNITS_MAX (1u << 24)
#define RANGES_MAX (1u << 26)
#define TOMBSTONE (UINT64_MAX - 1) /* what linkers write for code that they dropped */

struct reader_unit {
	struct describe_unit about;
	struct lines_ranges functions;
	bool opened;
};

struct lines_reader {
	const struct lines *lines;
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct reader_unit *units;
	size_t unit_count; /* none in the one that counts them */
	uint64_t size;
};

/* The inner one of two that start together is the later. */
ORDER(compare, struct lines_range, RISING(start) ?: FALLING(end))

static void add_ranges(struct lines_ranges *r, Dwarf_Die *die, uint64_t what, uint64_t first_code)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		/* Functions that the linker dropped are left at 0, 1 or the very end. */
		if (start >= end || start < first_code || end >= TOMBSTONE ||
		    r->count >= RANGES_MAX)
			continue;
		*xpush(r->rows, r->count, r->room) = (struct lines_range){ start, end, 0, what };
	}
}

static void sort_ranges(struct lines_ranges *r)
{
	uint64_t reach = 0;

	SORT(r->rows, r->count, compare);
	for (size_t i = 0; i < r->count; i++) {
		reach = MAX(reach, r->rows[i].end);
		r->rows[i].reach = reach;
	}
}

/* The range that holds an address and starts last, which of nested ones is the inner. */
static const struct lines_range *find_lines_range(const struct lines_ranges *r, uint64_t address)
{
	size_t low = FIRST_WHERE(i, r->count, r->rows[i].start > address);

	for (size_t i = low, steps = 0; i-- > 0 && steps < STEPS_MAX; steps++) {
		if (address < r->rows[i].end)
			return &r->rows[i];
		if (r->rows[i].reach <= address)
			break;
	}
	return NULL;
}

static bool begin_dwarf(const struct flat *flat, Elf **ret_elf, Dwarf **ret_dwarf)
{
	elf_version(EV_CURRENT);
	*ret_elf = elf_memory(flat->bytes, flat->size);
	*ret_dwarf = *ret_elf ? dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL) : NULL;
	return *ret_dwarf != NULL;
}

struct lines_reader *lines_reader_new(const struct lines *l)
{
	struct lines_reader *r = xcalloc(1, sizeof(*r));

	r->lines = l;
	r->unit_count = l->unit_count;
	r->units = xcalloc(l->unit_count, sizeof(*r->units));
	if (!begin_dwarf(l->flat, &r->elf, &r->dwarf))
		return lines_reader_free(r);
	if (l->alt && begin_dwarf(l->alt, &r->alt_elf, &r->alt))
		dwarf_setalt(r->dwarf, r->alt);
	return r;
}

struct lines_reader *lines_reader_free(struct lines_reader *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->unit_count; i++)
		free(r->units[i].functions.rows);
	free(r->units);
	dwarf_end(r->dwarf);
	elf_end(r->elf);
	dwarf_end(r->alt);
	elf_end(r->alt_elf);
	free(r);
	return NULL;
}

uint64_t lines_reader_size(const struct lines_reader *r)
{
	return r->size;
}

bool lines_read(struct lines *l, const struct flat *flat, const struct flat *alt,
		const struct names *names, uint64_t first_code)
{
	struct lines_reader *r;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	memset(l, 0, sizeof(*l));
	l->flat = flat;
	l->alt = alt;
	l->names = names;
	l->first_code = first_code;
	r = lines_reader_new(l);
	if (!r)
		return false;
	while (dwarf_get_units(r->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		size_t before = l->ranges.count;
		uint64_t offset = dwarf_dieoffset(&die);

		if (l->unit_count)
			l->units[l->unit_count - 1].size =
				offset - l->units[l->unit_count - 1].offset;
		if ((type != DW_UT_compile && type != DW_UT_skeleton) || l->unit_count >= UNITS_MAX)
			continue;
		add_ranges(&l->ranges, &die, l->unit_count, first_code);
		if (l->ranges.count == before)
			continue;
		*xpush(l->units, l->unit_count, l->unit_room) =
			(struct lines_unit){ offset, 0, type == DW_UT_skeleton };
	}
	sort_ranges(&l->ranges);
	lines_reader_free(r);
	return true;
}

void lines_release(struct lines *l)
{
	free(l->units);
	free(l->ranges.rows);
	memset(l, 0, sizeof(*l));
}

/* Functions lie in namespaces everywhere, in classes and in other functions only in some
 * languages: looking there in all would take most of the time. */
static void index_functions(struct lines_reader *r, struct reader_unit *u, Dwarf_Die *parent,
			    unsigned depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_ranges(&u->functions, &child, dwarf_dieoffset(&child),
				   r->lines->first_code);
			if (u->about.nests_functions)
				index_functions(r, u, &child, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			index_functions(r, u, &child, depth + 1);
			break;
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			if (u->about.functions_in_types)
				index_functions(r, u, &child, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static struct reader_unit *open_unit(struct lines_reader *r, uint64_t position)
{
	const struct lines_unit *shared = &r->lines->units[position];
	struct reader_unit *u = &r->units[position];

	if (u->opened)
		return u;
	u->opened = true;
	r->size += shared->size;
	if (!dwarf_offdie(r->dwarf, shared->offset, &u->about.die))
		return u;
	describe_unit(&u->about, shared->skeleton);
	index_functions(r, u, &u->about.die, 0);
	sort_ranges(&u->functions);
	return u;
}

bool lines_find(struct lines_reader *r, uint64_t address, struct symbol *ret_symbol)
{
	const struct lines_range *range = find_lines_range(&r->lines->ranges, address), *at;
	struct reader_unit *u;
	Dwarf_Die function;

	if (!range)
		return false;
	u = open_unit(r, range->what);
	if (!u->about.die.cu)
		return false;
	at = find_lines_range(&u->functions, address);
	if (at && !dwarf_offdie(dwarf_cu_getdwarf(u->about.die.cu), at->what, &function))
		at = NULL;
	describe(&u->about, at ? &function : NULL, address, r->lines->names, ret_symbol);
	return true;
}

void lines_steps(struct lines_reader *r, uint64_t start, uint64_t end, struct symbols_steps *steps)
{
	const struct lines_range *range = find_lines_range(&r->lines->ranges, start);
	struct reader_unit *u = range ? open_unit(r, range->what) : NULL;
	Dwarf_Lines *lines;
	Dwarf_Die die;
	size_t count;

	if (!u || !u->about.die.cu)
		return;
	die = u->about.die;
	if (dwarf_getsrclines(&die, &lines, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr address;
		Dwarf_Line *line = dwarf_onesrcline(lines, i);

		if (!line || dwarf_lineaddr(line, &address) != 0 || address < start ||
		    address >= end)
			continue;
		/* Several rows may begin at one address; the last of them is meant. */
		if (steps->count && steps->rows[steps->count - 1] >= address)
			continue;
		*xpush(steps->rows, steps->count, steps->room) = address;
	}
}
