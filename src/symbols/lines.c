/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DWARF.  See lines.h.
 *
 * The units' ranges are collected from the units themselves, since .debug_aranges is optional and
 * clang leaves it out; a unit's functions are collected when an address in it is first asked for.
 */
#include "symbols/lines.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define DEPTH_MAX 64 /* of nesting, in types and in code */

static int compare(const void *a, const void *b)
{
	const struct lines_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void add_ranges(struct lines_range **rows, size_t *count, size_t *room, Dwarf_Die *die,
		       uint64_t what)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		/* Functions that the linker dropped are left at address 0. */
		if (start >= end || !start)
			continue;
		*rows = xgrow(*rows, *count, room, sizeof(**rows));
		(*rows)[(*count)++] = (struct lines_range){ start, end, what };
	}
}

static void sort(struct lines_range *rows, size_t count)
{
	if (count)
		qsort(rows, count, sizeof(*rows), compare);
}

/* The range that holds an address and starts last, which of nested ones is the inner. */
static const struct lines_range *find(const struct lines_range *rows, size_t count,
				      uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, steps = 0; i-- > 0 && steps < 16; steps++)
		if (address < rows[i].end)
			return &rows[i];
	return NULL;
}

void lines_read(struct lines *l, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	memset(l, 0, sizeof(*l));
	l->dwarf = dwarf;
	while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		size_t before = l->range_count;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		add_ranges(&l->ranges, &l->range_count, &l->range_room, &die, l->unit_count);
		if (l->range_count == before)
			continue;
		l->units = xgrow(l->units, l->unit_count, &l->unit_room, sizeof(*l->units));
		l->units[l->unit_count++] =
			(struct lines_unit){ .die = type == DW_UT_skeleton && split.addr ? split
											 : die };
	}
	sort(l->ranges, l->range_count);
}

void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->unit_count; i++)
		free(l->units[i].functions);
	free(l->units);
	free(l->ranges);
	memset(l, 0, sizeof(*l));
}

static void index_functions(struct lines_unit *u, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_ranges(&u->functions, &u->count, &u->room, &child,
				   dwarf_dieoffset(&child));
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			index_functions(u, &child, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* The declaration that a concrete function, or an inlined copy of it, goes back to. */
static Dwarf_Die declaration(Dwarf_Die die)
{
	static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < 2; i++) {
		Dwarf_Die to;

		if (dwarf_attr(&die, links[i], &attribute) && dwarf_formref_die(&attribute, &to))
			die = to;
	}
	return die;
}

/* A name without linkage name: with the classes and namespaces that it is in. */
static char *qualified_name(Dwarf_Die *die)
{
	Dwarf_Die at = declaration(*die), *scopes = NULL;
	const char *name = dwarf_diename(die);
	int count = dwarf_getscopes_die(&at, &scopes);
	char *text;

	if (!name) {
		free(scopes);
		return NULL;
	}
	text = xstrdup(name);
	for (int i = 1; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *scope = dwarf_diename(&scopes[i]);
		char *longer;

		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
		    tag != DW_TAG_structure_type && tag != DW_TAG_union_type)
			continue;
		longer = xasprintf("%s::%s", scope ? scope : "(anonymous)", text);
		free(text);
		text = longer;
	}
	free(scopes);
	return text;
}

static void name_function(Dwarf_Die *die, struct symbol_frame *f)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < 2; i++) {
		const char *text = dwarf_attr_integrate(die, names[i], &attribute)
					   ? dwarf_formstring(&attribute)
					   : NULL;

		if (text) {
			f->raw_function = xstrdup(text);
			f->function = demangle(text);
			return;
		}
	}
	f->function = qualified_name(die);
	f->raw_function = f->function ? xstrdup(dwarf_diename(die)) : NULL;
}

/* The inlined calls around an address, outermost first. */
static unsigned inlined_at(Dwarf_Die function, uint64_t address, Dwarf_Die *calls)
{
	Dwarf_Die at = function, child;
	unsigned count = 0;

	for (unsigned depth = 0; depth < DEPTH_MAX && dwarf_child(&at, &child) == 0; depth++) {
		bool found = false;

		do {
			int tag = dwarf_tag(&child);

			if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
			    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
				continue;
			if (dwarf_haspc(&child, address) <= 0)
				continue;
			if (tag == DW_TAG_inlined_subroutine)
				calls[count++] = child;
			at = child;
			found = true;
			break;
		} while (dwarf_siblingof(&child, &child) == 0);
		if (!found)
			break;
	}
	return count;
}

static void source_of_address(struct lines_unit *u, uint64_t address, struct symbol_frame *f)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!file)
		return;
	f->file = xstrdup(file);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		f->line = (uint32_t)number;
	if (dwarf_linecol(line, &number) == 0 && number > 0)
		f->column = (uint32_t)number;
}

static void source_of_call(struct lines_unit *u, Dwarf_Die *call, struct symbol_frame *f)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line, column;
	Dwarf_Files *files;
	const char *path;

	if (!dwarf_attr(call, DW_AT_call_file, &attribute) ||
	    dwarf_formudata(&attribute, &file) != 0 ||
	    dwarf_getsrcfiles(&u->die, &files, NULL) != 0 ||
	    !(path = dwarf_filesrc(files, file, NULL, NULL)))
		return;
	f->file = xstrdup(path);
	if (dwarf_attr(call, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &line) == 0)
		f->line = (uint32_t)line;
	if (dwarf_attr(call, DW_AT_call_column, &attribute) &&
	    dwarf_formudata(&attribute, &column) == 0)
		f->column = (uint32_t)column;
}

bool lines_find(struct lines *l, uint64_t address, struct symbol *ret_symbol)
{
	const struct lines_range *range = find(l->ranges, l->range_count, address), *at;
	Dwarf_Die function, calls[DEPTH_MAX];
	struct lines_unit *u;
	unsigned count = 0;
	bool named = false;

	if (!range)
		return false;
	u = &l->units[range->what];
	if (!u->indexed) {
		index_functions(u, &u->die, 0);
		sort(u->functions, u->count);
		u->indexed = true;
	}
	at = find(u->functions, u->count, address);
	if (at && dwarf_offdie(dwarf_cu_getdwarf(u->die.cu), at->what, &function)) {
		named = true;
		count = inlined_at(function, address, calls);
	}
	ret_symbol->count = count + 1;
	ret_symbol->frames = xcalloc(count + 1, sizeof(*ret_symbol->frames));
	for (unsigned i = 0; i <= count; i++) {
		struct symbol_frame *f = &ret_symbol->frames[i];

		if (i < count)
			name_function(&calls[count - 1 - i], f);
		else if (named)
			name_function(&function, f);
		f->inlined = i < count;
		if (i == 0)
			source_of_address(u, address, f);
		else
			source_of_call(u, &calls[count - i], f);
	}
	return true;
}
