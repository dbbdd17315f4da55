/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocators in a program's own files, from their symbol tables.  See inplace.h.
 *
 * A family is the functions of one allocator in one file: the names without a prefix (only in the
 * executable: libraries export theirs, and are called through the recorder), those of a jemalloc
 * with a prefix, mimalloc's and tcmalloc's.  It counts if it has a function that gives blocks and
 * one that takes them back.  Addresses that have several names are one site. */
#include "collector/inplace.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/order.h"
#include "collector/relocate.h"
#include "wire/page.h"

#define NAME_LONGEST 48
#define FOUND_MAX 1024
#define NAMELESS_MAX (64u << 20) /* is searched for an allocator without names */
#define NEVER ((unsigned)-1)

enum family {
	FAMILY_PLAIN,
	FAMILY_RJEM,
	FAMILY_JE,
	FAMILY_MI,
	FAMILY_TC,
	FAMILY_LIBC, /* no allocator: what maps memory */
	FAMILY_COUNT,
};

static const char *const prefixes[] = { "", "_rjem_", "je_", "", "", "" };

struct found {
	uint64_t value, size; /* as in the file */
	uint8_t row, family;
	bool ifunc;
};

struct search {
	const struct inplace_file *file;
	struct shm_plan *plan;
	Elf64_Ehdr header;
	struct found list[FOUND_MAX];
	unsigned count;
	unsigned first; /* of this file's sites */
	bool symtab;	/* the file has not been stripped */
	bool gives[FAMILY_COUNT], takes[FAMILY_COUNT], jemalloc[FAMILY_COUNT];
	uint64_t usable[FAMILY_COUNT];
	unsigned refused;
};

static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	if (used < size)
		vsnprintf(text + used, size - used, format, list);
	va_end(list);
}

static bool within(const struct inplace_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

static bool read_header(const struct inplace_file *f, Elf64_Ehdr *h)
{
	if (!within(f, 0, sizeof(*h)))
		return false;
	memcpy(h, f->bytes, sizeof(*h));
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == ARCH_ELF_MACHINE;
}

static bool segment(const struct inplace_file *f, const Elf64_Ehdr *h, unsigned i, Elf64_Phdr *ret)
{
	uint64_t at = h->e_phoff + (uint64_t)i * sizeof(*ret);

	if (i >= h->e_phnum || h->e_phentsize != sizeof(*ret) || h->e_phoff > f->size ||
	    !within(f, at, sizeof(*ret)))
		return false;
	memcpy(ret, f->bytes + at, sizeof(*ret));
	return true;
}

static bool section(const struct inplace_file *f, const Elf64_Ehdr *h, unsigned i, Elf64_Shdr *ret)
{
	uint64_t at = h->e_shoff + (uint64_t)i * sizeof(*ret);

	if (i >= h->e_shnum || h->e_shentsize != sizeof(*ret) || h->e_shoff > f->size ||
	    !within(f, at, sizeof(*ret)))
		return false;
	memcpy(ret, f->bytes + at, sizeof(*ret));
	return true;
}

bool inplace_base(const uint8_t *bytes, size_t size, uint64_t *ret_base, uint64_t *ret_span)
{
	struct inplace_file f = { .bytes = bytes, .size = size };
	uint64_t high = 0;
	bool found = false;
	Elf64_Ehdr h;
	Elf64_Phdr s;

	if (!read_header(&f, &h))
		return false;
	for (unsigned i = 0; segment(&f, &h, i, &s); i++) {
		if (s.p_type != PT_LOAD)
			continue;
		if (!found && s.p_offset < ARCH_PAGE_MAX) {
			*ret_base = s.p_vaddr - s.p_offset;
			found = true;
		}
		high = MAX(high, s.p_vaddr + s.p_memsz);
	}
	*ret_span = found && high > *ret_base ? page_up(high) - *ret_base : 0;
	return *ret_span > 0;
}

/* The names, by a hash. */
static uint8_t buckets[1024]; /* row + 1 */

static unsigned hash_name(const char *name, size_t length)
{
	unsigned h = 5381;

	for (size_t i = 0; i < length; i++)
		h = h * 33 + (unsigned char)name[i];
	return h ^ h >> 13;
}

static void fill_buckets(void)
{
	if (buckets[hash_name("malloc", 6) % sizeof(buckets)])
		return;
	for (unsigned i = 0; i < inplace_row_count; i++) {
		unsigned at = hash_name(inplace_rows[i].name, strlen(inplace_rows[i].name));

		while (buckets[at % sizeof(buckets)])
			at++;
		buckets[at % sizeof(buckets)] = (uint8_t)(i + 1);
	}
}

static unsigned row_named(const char *name, size_t length)
{
	for (unsigned at = hash_name(name, length), i; (i = buckets[at % sizeof(buckets)]); at++)
		if (strlen(inplace_rows[i - 1].name) == length &&
		    !memcmp(inplace_rows[i - 1].name, name, length))
			return i - 1;
	return NEVER;
}

/* Which function of which family a symbol's name is; NEVER if none. */
static unsigned classify(const struct inplace_file *f, const char *name, size_t length,
			 enum family *ret_family)
{
	unsigned row;

	for (unsigned i = FAMILY_RJEM; i <= FAMILY_JE; i++) {
		size_t n = strlen(prefixes[i]);

		if (length <= n || memcmp(name, prefixes[i], n))
			continue;
		row = row_named(name + n, length - n);
		*ret_family = i;
		return row != NEVER && inplace_rows[row].group == INPLACE_STANDARD ? row : NEVER;
	}
	row = row_named(name, length);
	if (row == NEVER)
		return NEVER;
	*ret_family = inplace_rows[row].group == INPLACE_MI	? FAMILY_MI
		      : inplace_rows[row].group == INPLACE_TC	? FAMILY_TC
		      : inplace_rows[row].group == INPLACE_LIBC ? FAMILY_LIBC
								: FAMILY_PLAIN;
	if (*ret_family == FAMILY_LIBC)
		return f->libc ? row : NEVER;
	return *ret_family == FAMILY_PLAIN && !f->executable ? NEVER : row;
}

static void note_symbol(struct search *s, const Elf64_Sym *symbol, unsigned row, enum family family)
{
	const struct inplace_row *r = &inplace_rows[row];

	/* One address, several names: the first row counts. */
	for (unsigned i = 0; i < s->count; i++) {
		struct found *f = &s->list[i];

		if (f->value == symbol->st_value && f->family == family) {
			f->row = f->row < row ? f->row : (uint8_t)row;
			goto counted;
		}
	}
	if (s->count == FOUND_MAX)
		return;
	s->list[s->count++] = (struct found){
		.value = symbol->st_value,
		.size = symbol->st_size,
		.row = (uint8_t)row,
		.family = (uint8_t)family,
		.ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	};
counted:
	if (r->flags & INPLACE_JEMALLOC)
		s->jemalloc[family] = true;
	if (r->group == INPLACE_CXX || r->group == INPLACE_LIBC)
		return;
	if (r->op == INPLACE_USABLE && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
		s->usable[family] = s->file->bias + symbol->st_value;
	s->gives[family] |= r->op == INPLACE_NEW;
	s->takes[family] |= r->op == INPLACE_END;
}

/* One symbol after the other of all tables, as far as they are defined functions. */
static void each_function(struct search *s, const Elf64_Shdr *table,
			  void (*use)(struct search *, const Elf64_Sym *, const char *, size_t))
{
	const struct inplace_file *f = s->file;
	Elf64_Shdr strings;
	Elf64_Sym symbol;

	if (!section(f, &s->header, table->sh_link, &strings) ||
	    !within(f, table->sh_offset, table->sh_size) ||
	    !within(f, strings.sh_offset, strings.sh_size))
		return;
	for (uint64_t at = 0; table->sh_size - at >= sizeof(symbol); at += sizeof(symbol)) {
		unsigned type;

		memcpy(&symbol, f->bytes + table->sh_offset + at, sizeof(symbol));
		type = ELF64_ST_TYPE(symbol.st_info);
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
		    symbol.st_value && symbol.st_name < strings.sh_size)
			use(s, &symbol, (const char *)f->bytes + strings.sh_offset + symbol.st_name,
			    strings.sh_size - symbol.st_name);
	}
}

static void each_table(struct search *s,
		       void (*use)(struct search *, const Elf64_Sym *, const char *, size_t))
{
	Elf64_Shdr table;

	for (unsigned i = 0; section(s->file, &s->header, i, &table); i++) {
		if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM)
			continue;
		s->symtab |= table.sh_type == SHT_SYMTAB;
		each_function(s, &table, use);
	}
}

static void look_at_symbol(struct search *s, const Elf64_Sym *symbol, const char *name, size_t room)
{
	enum family family;
	size_t length;
	unsigned row;

	/* Most names, in a large program: C++ and Rust, but no operator new or delete. */
	if (room > 3 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') && name[2] != 'n' &&
	    name[2] != 'd')
		return;
	length = strnlen(name, room < NAME_LONGEST ? room : NAME_LONGEST);
	if (length == NAME_LONGEST || length == room)
		return;
	row = classify(s->file, name, length, &family);
	if (row != NEVER)
		note_symbol(s, symbol, row, family);
}

static bool counts(const struct search *s, enum family family)
{
	return s->gives[family] && s->takes[family];
}

/* C++ operators belong to whatever allocator the executable has. */
static bool chosen(const struct search *s, const struct found *f)
{
	if (inplace_rows[f->row].op == INPLACE_USABLE)
		return false;
	if (inplace_rows[f->row].group != INPLACE_CXX)
		return f->family == FAMILY_LIBC || counts(s, f->family);
	return ANY(i, FAMILY_COUNT, counts(s, i));
}

static uint64_t usable_of(const struct search *s, const struct found *f)
{
	if (inplace_rows[f->row].group != INPLACE_CXX || counts(s, FAMILY_PLAIN))
		return s->usable[f->family];
	for (unsigned i = 0; i < FAMILY_COUNT; i++)
		if (counts(s, i))
			return s->usable[i];
	return 0;
}

static bool find_code(const struct search *s, const struct found *f, struct relocate_code *ret,
		      uint8_t *ret_protection)
{
	Elf64_Phdr p;

	for (unsigned i = 0; segment(s->file, &s->header, i, &p); i++) {
		uint64_t in = f->value - p.p_vaddr;

		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || in >= p.p_filesz ||
		    !within(s->file, p.p_offset, p.p_filesz))
			continue;
		*ret = (struct relocate_code){
			.bytes = s->file->bytes + p.p_offset + in,
			.size = f->size,
			.room = p.p_filesz - in,
			.address = s->file->bias + f->value,
		};
		*ret_protection = (uint8_t)(PROT_EXEC | (p.p_flags & PF_R ? PROT_READ : 0) |
					    (p.p_flags & PF_W ? PROT_WRITE : 0));
		return true;
	}
	return false;
}

static void refuse(struct search *s, const struct found *f, const char *why)
{
	struct shm_plan *plan = s->plan;
	bool libc = f->family == FAMILY_LIBC;
	char *text = libc ? plan->libc_warning : plan->warning;

	s->refused++;
#ifdef ARCH_NO_HOOKS_IN_PLACE /* the same of all of them: said once */
	if (!text[0])
		append(text, libc ? sizeof(plan->libc_warning) : sizeof(plan->warning), "%s", why);
#else
	append(text, libc ? sizeof(plan->libc_warning) : sizeof(plan->warning), "%s%s%s in %s: %s",
	       text[0] ? "; " : "", prefixes[f->family], inplace_rows[f->row].name, s->file->name,
	       why);
#endif
}

static void add_site(struct search *s, const struct found *f)
{
	struct shm_plan *plan = s->plan;
	struct relocate_code code;
	struct shm_site *site;
	const char *why;

	for (unsigned i = 0; i < plan->site_count; i++)
		if (plan->sites[i].entry == s->file->bias + f->value) {
			plan->sites[i].row = MIN(plan->sites[i].row, f->row);
			return;
		}
	if (plan->site_count == INPLACE_SITES) {
		refuse(s, f, "there are too many");
		return;
	}
	site = &plan->sites[plan->site_count];
	*site = (struct shm_site){
		.row = f->row, .usable = usable_of(s, f), .low = s->file->low, .high = s->file->high
	};
	if (f->ifunc)
		why = "it is chosen at run time (an ifunc)";
	else if (!find_code(s, f, &code, &site->protection))
		why = "its code is not in the file";
	else
		why = relocate_entry(&code, s->file->shadow_stack, site);
	if (why)
		refuse(s, f, why);
	else
		plan->site_count++;
}

/* A site that is no site after all: the last one takes its place. */
static void drop(struct search *s, unsigned index, const char *why)
{
	struct shm_plan *plan = s->plan;
	struct found f = { .row = plan->sites[index].row };

	f.family = inplace_rows[f.row].group == INPLACE_LIBC ? FAMILY_LIBC : FAMILY_PLAIN;

	refuse(s, &f, why);
	plan->sites[index] = plan->sites[--plan->site_count];
}

/* A function that starts in the middle of another's start. */
static void drop_overlapped(struct search *s, const Elf64_Sym *symbol, const char *name,
			    size_t room)
{
	uint64_t address = s->file->bias + symbol->st_value;

	(void)name;
	(void)room;
	for (unsigned i = s->first; i < s->plan->site_count; i++)
		if (address - s->plan->sites[i].address - 1 < ARCH_JUMP - 1)
			drop(s, i--, "another function starts inside its start");
}

/* The parts of a function that are elsewhere (".cold") may come back into what is displaced. */
static void drop_jumped_into(struct search *s)
{
	struct shm_plan *plan = s->plan;
	Elf64_Phdr p;
	int bad;

	for (unsigned i = 0; segment(s->file, &s->header, i, &p); i++) {
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    !within(s->file, p.p_offset, p.p_filesz))
			continue;
		while (plan->site_count > s->first &&
		       (bad = relocate_jump_into(s->file->bytes + p.p_offset, p.p_filesz,
						 s->file->bias + p.p_vaddr, plan->sites + s->first,
						 plan->site_count - s->first)) >= 0)
			drop(s, s->first + (unsigned)bad, "another part of it jumps to its start");
	}
}

/* Does the file keep what it only reads apart from its code?  Then there is no text among that. */
static bool keeps_code_apart(const struct search *s)
{
	Elf64_Phdr p;

	for (unsigned i = 0; segment(s->file, &s->header, i, &p); i++)
		if (p.p_type == PT_LOAD && !(p.p_flags & (PF_W | PF_X)))
			return true;
	return false;
}

/* An allocator whose names are gone is still known by what it would print.  The program waits. */
static const char *kind_by_text(const struct search *s)
{
	static const struct {
		const char *kind, *text;
	} marks[] = { { "jemalloc", "<jemalloc>: " },
		      { "mimalloc", "mimalloc: warning: " },
		      { "tcmalloc", "tcmalloc.max_total_thread_cache_bytes" } };
	uint32_t not_in = keeps_code_apart(s) ? PF_W | PF_X : PF_W;
	Elf64_Phdr p;

	for (unsigned i = 0; segment(s->file, &s->header, i, &p); i++) {
		if (p.p_type != PT_LOAD || p.p_flags & not_in || p.p_filesz > NAMELESS_MAX ||
		    !within(s->file, p.p_offset, p.p_filesz))
			continue;
		for (unsigned k = 0; k < sizeof(marks) / sizeof(marks[0]); k++)
			if (memmem(s->file->bytes + p.p_offset, p.p_filesz, marks[k].text,
				   strlen(marks[k].text)))
				return marks[k].kind;
	}
	return NULL;
}

static const char *kind_of(const struct search *s, enum family family)
{
	const char *kind;

	if (family == FAMILY_MI || (family == FAMILY_PLAIN && counts(s, FAMILY_MI)))
		return "mimalloc";
	if (family == FAMILY_TC || (family == FAMILY_PLAIN && counts(s, FAMILY_TC)))
		return "tcmalloc";
	kind = s->jemalloc[family] ? "jemalloc" : kind_by_text(s);
	return kind ? kind : "an allocator";
}

static void describe(struct search *s)
{
	struct shm_plan *plan = s->plan;

	for (unsigned i = 0; i < FAMILY_COUNT; i++) {
		if (!counts(s, i) || (i >= FAMILY_MI && counts(s, FAMILY_PLAIN)))
			continue;
		append(plan->allocator, sizeof(plan->allocator), "%s%s%s%s%s inside %s",
		       plan->allocator[0] ? ", " : "", kind_of(s, i), prefixes[i][0] ? " (" : "",
		       prefixes[i], prefixes[i][0] ? ")" : "", s->file->name);
	}
	if (!s->symtab && counts(s, FAMILY_PLAIN))
		append(plan->warning, sizeof(plan->warning),
		       "%s%s is stripped: functions of its allocator that it does not export are "
		       "not seen",
		       plan->warning[0] ? "; " : "", s->file->name);
}

/* Names are gone, but it is there. */
static void find_nameless(struct search *s)
{
	struct shm_plan *plan = s->plan;
	const char *kind = kind_by_text(s);

	if (!kind)
		return;
	append(plan->allocator, sizeof(plan->allocator), "%s inside %s", kind, s->file->name);
	append(plan->warning, sizeof(plan->warning),
	       "there is a %s inside %s, which is stripped: its functions are not found without "
	       "their names",
	       kind, s->file->name);
}

void inplace_plan(struct shm_plan *plan, const struct inplace_file *file)
{
	static struct search s; /* one thread */

	memset(&s, 0, sizeof(s));
	s.file = file;
	s.plan = plan;
	s.first = plan->site_count;
	if (!read_header(file, &s.header))
		return;
	fill_buckets();
	each_table(&s, look_at_symbol);
	for (unsigned i = 0; i < s.count; i++)
		if (chosen(&s, &s.list[i]))
			add_site(&s, &s.list[i]);
	if (plan->site_count > s.first) {
		each_table(&s, drop_overlapped);
		drop_jumped_into(&s);
	}
	if (plan->site_count > s.first || s.refused)
		describe(&s);
	else if (file->executable && !s.symtab)
		find_nameless(&s);
}
