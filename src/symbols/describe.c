/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DIEs to frames.  See describe.h. */
#include "symbols/describe.h"

#include <dwarf.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbols/elf_file.h"

#define DEPTH_MAX 64   /* of inlined calls */
#define ORIGINS_MAX 16 /* links from one DIE to the next */
#define SCOPES_MAX 32  /* namespaces and classes of a name */
#define NAME_MAX_SIZE 65536

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* An absolute path where that can be known, without detours: the same file has one name then. */
static char *source_path(const struct describe_unit *u, const char *file)
{
	char *path =
		*file == '/' || !u->folder ? xstrdup(file) : xasprintf("%s/%s", u->folder, file);
	char *to = path;

	for (const char *p = path; *path == '/' && *p;) {
		size_t size = strcspn(p + 1, "/") + 1;

		if (size == 3 && !memcmp(p, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (size > 1 && !(size == 2 && p[1] == '.')) {
			memmove(to, p, size);
			to += size;
		}
		p += size;
	}
	if (*path == '/')
		*to = 0;
	return path;
}

/* libdw opens .dwo files by itself.  It gets only those that are plain files and look well. */
static bool has_split_file(Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_dwo_name);
	const char *folder = text_of(die, DW_AT_comp_dir);
	auto_free char *path = NULL;
	struct elf_file f;

	if (!name)
		name = text_of(die, DW_AT_GNU_dwo_name);
	if (!name || (*name != '/' && (!folder || *folder != '/')))
		return false;
	path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", folder, name);
	if (!elf_file_open(&f, path))
		return false;
	elf_file_release(&f);
	return true;
}

void describe_unit(struct describe_unit *u, bool skeleton)
{
	Dwarf_Die split;
	const char *folder = text_of(&u->die, DW_AT_comp_dir);

	/* Debian's compilers are told to write "./src", which leads nowhere. */
	u->folder = folder && *folder == '/' ? folder : NULL;
	if (skeleton && has_split_file(&u->die) &&
	    dwarf_cu_info(u->die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
		u->die = split;
	u->language = dwarf_srclang(&u->die);
	switch (u->language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
		u->nests_functions = true;
		break;
	case DW_LANG_Mips_Assembler:
		u->assembler = true;
		break;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		u->mangles = true;
		break;
	default:
		u->mangles = u->nests_functions = u->functions_in_types = true;
		break;
	}
}

/* The declaration that a concrete function, or an inlined copy of it, goes back to. */
static Dwarf_Die declaration(Dwarf_Die die)
{
	static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute attribute;

	for (unsigned n = 0; n < ORIGINS_MAX; n++) {
		Dwarf_Die to;
		bool found = false;

		for (unsigned i = 0; i < 2 && !found; i++)
			found = dwarf_attr(&die, links[i], &attribute) &&
				dwarf_formref_die(&attribute, &to);
		if (!found)
			break;
		die = to;
	}
	return die;
}

/* A name without linkage name: with the classes and namespaces that it is in. */
static char *qualified_name(Dwarf_Die *die, const char *name)
{
	Dwarf_Die at = declaration(*die), *scopes = NULL;
	int count = dwarf_getscopes_die(&at, &scopes);
	char *text = xstrdup(name);

	for (int i = 1; i < count && i < SCOPES_MAX && strlen(text) < NAME_MAX_SIZE; i++) {
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

/* What the symbol table calls a function that has code of its own: it knows the linkage name where
 * the compiler was told to be brief. */
static const char *name_in_table(const struct describe_unit *u, Dwarf_Die *die,
				 const struct names *names)
{
	Dwarf_Addr start;
	const char *text;

	if (dwarf_tag(die) != DW_TAG_subprogram || dwarf_entrypc(die, &start) != 0)
		return NULL;
	text = names_starting_at(names, start);
	/* Of several labels the assembler describes any. */
	if (u->assembler)
		return text;
	return text && text[0] == '_' && (text[1] == 'Z' || text[1] == 'R') ? text : NULL;
}

static void name_function(const struct describe_unit *u, Dwarf_Die *die, const struct names *names,
			  struct symbol_frame *f)
{
	static const unsigned links[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;
	const char *text = NULL, *plain;

	for (unsigned i = 0; i < 2 && !text; i++)
		text = dwarf_attr_integrate(die, links[i], &attribute)
			       ? dwarf_formstring(&attribute)
			       : NULL;
	if (!text && (u->mangles || u->assembler))
		text = name_in_table(u, die, names);
	if (text && *text) {
		f->raw_function = xstrdup(text);
		f->function = demangle(text);
		return;
	}
	plain = dwarf_diename(die);
	if (!plain)
		return;
	f->raw_function = xstrdup(plain);
	f->function = u->mangles ? qualified_name(die, plain) : xstrdup(plain);
}

/* How large the piece of a DIE's code is that holds an address; 0: none does. */
static uint64_t covers(Dwarf_Die *die, uint64_t address)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0)
		if (start <= address && address < end)
			return end - start;
	return 0;
}

/* The inlined calls around an address, outermost first. */
struct inlined_calls {
	Dwarf_Die calls[DEPTH_MAX];
	unsigned count;
	uint64_t size; /* of the innermost one's code there */
};

static bool holds_code(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Optimised code has neighbours that overlap: the one that leads to more calls says more, then the
 * smaller one.  Each call may lie in a block or two. */
static void go_inwards(Dwarf_Die *at, uint64_t address, unsigned depth, struct inlined_calls *now,
		       struct inlined_calls *best)
{
	Dwarf_Die child;

	if (now->count > best->count || (now->count == best->count && now->size < best->size))
		*best = *now;
	if (depth >= DEPTH_MAX * 4 || now->count >= DEPTH_MAX || dwarf_child(at, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		uint64_t size = holds_code(tag) ? covers(&child, address) : 0, outer = now->size;

		if (!size)
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			now->calls[now->count++] = child;
			now->size = size;
		}
		go_inwards(&child, address, depth + 1, now, best);
		if (tag == DW_TAG_inlined_subroutine) {
			now->count--;
			now->size = outer;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void source_of_address(const struct describe_unit *u, uint64_t address,
			      struct symbol_frame *f)
{
	Dwarf_Die die = u->die;
	Dwarf_Line *line = dwarf_getsrc_die(&die, address);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!file)
		return;
	f->file = source_path(u, file);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		f->line = (uint32_t)number;
	if (dwarf_linecol(line, &number) == 0 && number > 0)
		f->column = (uint32_t)number;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void source_of_call(const struct describe_unit *u, Dwarf_Die *call, struct symbol_frame *f)
{
	Dwarf_Die die = u->die;
	Dwarf_Files *files;
	const char *path;
	size_t count;
	uint32_t file = number_of(call, DW_AT_call_file);

	f->line = number_of(call, DW_AT_call_line);
	f->column = number_of(call, DW_AT_call_column);
	if (dwarf_getsrcfiles(&die, &files, &count) == 0 && file < count &&
	    (path = dwarf_filesrc(files, file, NULL, NULL)))
		f->file = source_path(u, path);
}

void describe(const struct describe_unit *u, Dwarf_Die *function, uint64_t address,
	      const struct names *names, struct symbol *ret_symbol)
{
	struct inlined_calls now = { .size = UINT64_MAX }, best = now;
	Dwarf_Die *calls = best.calls;
	unsigned count;

	if (function)
		go_inwards(function, address, 0, &now, &best);
	count = best.count;
	ret_symbol->count = count + 1;
	ret_symbol->frames = xcalloc(count + 1, sizeof(*ret_symbol->frames));
	for (unsigned i = 0; i <= count; i++) {
		struct symbol_frame *f = &ret_symbol->frames[i];

		if (i < count)
			name_function(u, &calls[count - 1 - i], names, f);
		else if (function)
			name_function(u, function, names, f);
		f->inlined = i < count;
		if (i == 0)
			source_of_address(u, address, f);
		else
			source_of_call(u, &calls[count - i], f);
	}
}
