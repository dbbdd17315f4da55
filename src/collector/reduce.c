/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Planning and reading reduced ELF files.  See reduce.h. */
#include "collector/reduce.h"

#include <elf.h>
#include <string.h>

#include "base/order.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "wire/debug_sections.h"
#include "wire/elf32.h"

#define SECTIONS_MAX 65536u
#define SEGMENTS_MAX 512u
#define NAMES_MAX (1u << 20)
#define NOTES_MAX                                                                                  \
	(64u << 10) /* what a compiler writes about each function is larger, and no note */
#define FRAMES_MAX (1u << 20) /* unwind tables of a file that can be had again */
#define ALIGNMENT 16u
#define SLACK (1u << 20) /* what headers and alignment may add */

/* The file's own headers, those of 32 bits as if they had 64. */
struct headers {
	bool narrow; /* they have 32 in the file */
	Elf64_Ehdr elf;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	uint32_t segment_count, section_count, names_section;
	char *names;
	size_t names_size;
};

ssize_t reduce_source_read(const struct reduce_source *s, void *out, size_t size, uint64_t offset)
{
	if (s->memory) {
		if (offset >= s->size)
			return 0;
		if (size > s->size - offset)
			size = (size_t)(s->size - offset);
		memcpy(out, s->memory + offset, size);
		return (ssize_t)size;
	}
	return read_at_most(s->fd, out, size, offset);
}

static bool read_exactly(const struct reduce_source *s, void *out, uint64_t size, uint64_t offset)
{
	return offset <= s->size && size <= s->size - offset &&
	       reduce_source_read(s, out, (size_t)size, offset) == (ssize_t)size;
}

static void *read_new(const struct reduce_source *s, uint64_t size, uint64_t offset)
{
	void *bytes;

	if (offset > s->size || size > s->size - offset)
		return NULL;
	bytes = xmalloc((size_t)size + 1);
	if (read_exactly(s, bytes, size, offset))
		return bytes;
	free(bytes);
	return NULL;
}

static bool lies_inside(const struct reduce_source *s, uint64_t offset, uint64_t size)
{
	return offset <= s->size && size <= s->size - offset;
}

static size_t section_size(const struct headers *h)
{
	return h->narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

static size_t segment_size(const struct headers *h)
{
	return h->narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

static size_t elf_size(const struct headers *h)
{
	return h->narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
}

static bool read_section(const struct headers *h, const struct reduce_source *s, uint64_t i,
			 Elf64_Shdr *ret)
{
	Elf32_Shdr row;

	if (!h->narrow)
		return read_exactly(s, ret, sizeof(*ret), h->elf.e_shoff + i * sizeof(*ret));
	if (!read_exactly(s, &row, sizeof(row), h->elf.e_shoff + i * sizeof(row)))
		return false;
	ELF32_SECTION(ret, &row);
	return true;
}

static bool read_segment(const struct headers *h, const struct reduce_source *s, uint64_t i,
			 Elf64_Phdr *ret)
{
	Elf32_Phdr row;

	if (!h->narrow)
		return read_exactly(s, ret, sizeof(*ret), h->elf.e_phoff + i * sizeof(*ret));
	if (!read_exactly(s, &row, sizeof(row), h->elf.e_phoff + i * sizeof(row)))
		return false;
	ELF32_SEGMENT(ret, &row);
	return true;
}

static bool read_elf(struct headers *h, const struct reduce_source *s)
{
	Elf32_Ehdr elf;

	if (!read_exactly(s, &elf, sizeof(elf), 0) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	h->narrow = elf.e_ident[EI_CLASS] == ELFCLASS32;
	if (h->narrow)
		ELF32_HEADER(&h->elf, &elf);
	else if (elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		 !read_exactly(s, &h->elf, sizeof(h->elf), 0))
		return false;
	return h->elf.e_phnum <= SEGMENTS_MAX;
}

/* Section headers, with the two numbers that may have been too large for the file's head. */
static bool read_sections(struct headers *h, const struct reduce_source *s)
{
	Elf64_Shdr first;
	uint64_t count = h->elf.e_shnum;

	if (!h->elf.e_shoff)
		return true;
	if (h->elf.e_shentsize != section_size(h) || !read_section(h, s, 0, &first))
		return false;
	if (!count)
		count = first.sh_size;
	h->names_section = h->elf.e_shstrndx == SHN_XINDEX ? first.sh_link : h->elf.e_shstrndx;
	if (!count || count > SECTIONS_MAX || h->names_section >= count ||
	    !lies_inside(s, h->elf.e_shoff, count * section_size(h)))
		return false;
	h->sections = xcalloc(count, sizeof(first));
	h->section_count = (uint32_t)count;
	if (!h->narrow && !read_exactly(s, h->sections, count * sizeof(first), h->elf.e_shoff))
		return false;
	for (uint32_t i = 0; h->narrow && i < count; i++)
		if (!read_section(h, s, i, &h->sections[i]))
			return false;
	if (h->sections[h->names_section].sh_size <= NAMES_MAX) {
		h->names_size = (size_t)h->sections[h->names_section].sh_size;
		h->names = read_new(s, h->names_size, h->sections[h->names_section].sh_offset);
	}
	if (h->names)
		h->names[h->names_size] = 0;
	return true;
}

static bool read_headers(struct headers *h, const struct reduce_source *s)
{
	memset(h, 0, sizeof(*h));
	if (!read_elf(h, s))
		return false;
	if (h->elf.e_phnum) {
		if (h->elf.e_phentsize != segment_size(h))
			return false;
		h->segments = xcalloc(h->elf.e_phnum, sizeof(*h->segments));
		for (; h->segment_count < h->elf.e_phnum; h->segment_count++)
			if (!read_segment(h, s, h->segment_count, &h->segments[h->segment_count]))
				return false;
	}
	return read_sections(h, s);
}

static void headers_release(struct headers *h)
{
	free(h->segments);
	free(h->sections);
	free(h->names);
}

static const char *name_of(const struct headers *h, uint32_t section)
{
	uint32_t at = h->sections[section].sh_name;

	return h->names && at < h->names_size ? h->names + at : "";
}

static bool has_content(const struct headers *h, const struct reduce_source *s, uint32_t section)
{
	const Elf64_Shdr *row = &h->sections[section];

	return section && row->sh_type != SHT_NOBITS && row->sh_type != SHT_NULL && row->sh_size &&
	       lies_inside(s, row->sh_offset, row->sh_size);
}

static bool has_type(const struct headers *h, const struct reduce_source *s, uint32_t type)
{
	for (uint32_t i = 1; i < h->section_count; i++)
		if (h->sections[i].sh_type == type && has_content(h, s, i))
			return true;
	return false;
}

static bool is_debug_section(const char *name)
{
	if (!strncmp(name, ".debug_", 7))
		name += 7;
	else if (!strncmp(name, ".zdebug_", 8))
		name += 8;
	else
		return false;
	return ANY(i, DEBUG_SECTIONS, !strcmp(name, debug_sections[i]));
}

/* Is the file's debug information elsewhere?  Then it comes from a package, and so may again. */
static bool names_debug_file(const struct headers *h)
{
	for (uint32_t i = 1; i < h->section_count; i++)
		if (!strcmp(name_of(h, i), ".gnu_debuglink"))
			return true;
	return false;
}

/* Unwind tables and their index stay together: an index alone leads nowhere. */
static bool frames_stay(const struct headers *h, bool packaged)
{
	for (uint32_t i = 1; packaged && i < h->section_count; i++)
		if (!strcmp(name_of(h, i), ".eh_frame"))
			return h->sections[i].sh_size <= FRAMES_MAX;
	return true;
}

static bool is_small_table(const struct headers *h, uint32_t section, bool frames)
{
	const Elf64_Shdr *row = &h->sections[section];
	const char *name = name_of(h, section);

	if (row->sh_type == SHT_NOTE)
		return !strncmp(name, ".note", 5) && row->sh_size <= NOTES_MAX;
	if (!strcmp(name, ".eh_frame") || !strcmp(name, ".eh_frame_hdr"))
		return frames;
	return section == h->names_section || !strcmp(name, ".gnu_debuglink") ||
	       !strcmp(name, ".gnu_debugaltlink");
}

static void keep_with_texts(const struct headers *h, uint32_t section, bool *keep)
{
	keep[section] = true;
	if (h->sections[section].sh_link < h->section_count)
		keep[h->sections[section].sh_link] = true;
}

/* Which sections stay.  Exported names are among those of a whole symbol table. */
static void choose(const struct headers *h, const struct reduce_source *s,
		   enum reduce_extent extent, bool *keep)
{
	bool exported = has_type(h, s, SHT_DYNSYM);
	bool only_exported = extent == REDUCE_EXPORTED && exported;
	bool whole = has_type(h, s, SHT_SYMTAB) && !only_exported;
	bool frames = frames_stay(h, extent == REDUCE_EXPORTED || names_debug_file(h));

	for (uint32_t i = 1; i < h->section_count; i++) {
		const char *name = name_of(h, i);

		if (h->sections[i].sh_type == (whole ? SHT_SYMTAB : SHT_DYNSYM))
			keep_with_texts(h, i, keep);
		else if (is_small_table(h, i, frames) ||
			 (!only_exported && is_debug_section(name)) ||
			 (!whole && !only_exported && !strcmp(name, ".gnu_debugdata")))
			keep[i] = true;
	}
}

static void add_part(struct reduced *r, uint64_t size, const uint8_t *bytes, uint64_t from)
{
	*xpush(r->parts, r->count, r->room) = (struct reduce_part){ r->size, size, bytes, from };
	r->size += size;
}

static void align(struct reduced *r)
{
	r->size = (r->size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Where a range of the file is in the image; 0 if it was left out. */
static uint64_t moved_to(const struct reduced *r, uint64_t from, uint64_t size)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct reduce_part *p = &r->parts[i];

		if (!p->bytes && from >= p->from && from - p->from <= p->size &&
		    size <= p->size - (from - p->from))
			return p->at + (from - p->from);
	}
	return 0;
}

static void add_sections(struct reduced *r, struct headers *h, const struct reduce_source *s,
			 const bool *keep)
{
	for (uint32_t i = 1; i < h->section_count; i++) {
		Elf64_Shdr *row = &h->sections[i];

		if (keep[i] && has_content(h, s, i)) {
			uint64_t from = row->sh_offset;

			align(r);
			row->sh_offset = r->size;
			add_part(r, row->sh_size, NULL, from);
			continue;
		}
		if (row->sh_type != SHT_NULL)
			row->sh_type = SHT_NOBITS;
		row->sh_offset = r->size;
	}
}

/* A build id may be in a segment that no section describes; the other segments have no content. */
static void add_segments(struct reduced *r, struct headers *h, const struct reduce_source *s)
{
	for (uint32_t i = 0; i < h->segment_count; i++) {
		Elf64_Phdr *row = &h->segments[i];
		uint64_t at = moved_to(r, row->p_offset, row->p_filesz);

		if (!at && row->p_type == PT_NOTE && row->p_filesz && row->p_filesz <= NOTES_MAX &&
		    lies_inside(s, row->p_offset, row->p_filesz)) {
			align(r);
			at = r->size;
			add_part(r, row->p_filesz, NULL, row->p_offset);
		}
		if (at && (row->p_type == PT_NOTE || row->p_type == PT_GNU_EH_FRAME)) {
			row->p_offset = at;
			continue;
		}
		/* These two have to be in the file where they are. */
		if (row->p_type == PT_PHDR || row->p_type == PT_INTERP)
			row->p_type = PT_NULL;
		row->p_offset = row->p_filesz = 0;
	}
}

/* As the file has them. */
static void put_sections(const struct headers *h, uint8_t *out)
{
	Elf32_Shdr *rows = (Elf32_Shdr *)out;

	if (!h->narrow)
		memcpy(out, h->sections, h->section_count * sizeof(*h->sections));
	for (uint32_t i = 0; h->narrow && i < h->section_count; i++)
		ELF32_SECTION(&rows[i], &h->sections[i]);
}

static void put_head(const struct headers *h, uint8_t *out)
{
	Elf32_Phdr *rows = (Elf32_Phdr *)(out + sizeof(Elf32_Ehdr));

	if (!h->narrow) {
		memcpy(out, &h->elf, sizeof(h->elf));
		if (h->segment_count)
			memcpy(out + sizeof(h->elf), h->segments,
			       h->segment_count * sizeof(*h->segments));
		return;
	}
	ELF32_HEADER((Elf32_Ehdr *)out, &h->elf);
	for (uint32_t i = 0; i < h->segment_count; i++)
		ELF32_SEGMENT(&rows[i], &h->segments[i]);
}

static void add_headers(struct reduced *r, struct headers *h, const struct reduce_source *s,
			const bool *keep)
{
	size_t segments = h->segment_count * segment_size(h);
	size_t sections = h->section_count * section_size(h);

	r->head = xcalloc(1, elf_size(h) + segments);
	add_part(r, elf_size(h) + segments, r->head, 0);
	h->elf.e_phoff = segments ? elf_size(h) : 0;
	add_sections(r, h, s, keep);
	add_segments(r, h, s);
	h->elf.e_shoff = 0;
	if (sections) {
		align(r);
		h->elf.e_shoff = r->size;
		r->sections = xmalloc(sections);
		put_sections(h, r->sections);
		add_part(r, sections, r->sections, 0);
	}
	put_head(h, r->head);
}

bool reduce_plan(struct reduced *r, const struct reduce_source *s, enum reduce_extent extent)
{
	struct headers h;
	bool fine, *keep;

	memset(r, 0, sizeof(*r));
	if (extent == REDUCE_NOTHING) {
		add_part(r, s->size, NULL, 0);
		return true;
	}
	fine = read_headers(&h, s);
	if (fine) {
		keep = xcalloc(h.section_count + 1, sizeof(*keep));
		choose(&h, s, extent, keep);
		add_headers(r, &h, s, keep);
		free(keep);
		/* Sections that lie upon each other would make more of a file than it is. */
		fine = r->size <= s->size + SLACK;
	}
	headers_release(&h);
	return fine;
}

bool reduce_read(const struct reduced *r, const struct reduce_source *s, uint8_t *out, size_t size,
		 uint64_t offset)
{
	memset(out, 0, size);
	for (size_t i = 0; i < r->count; i++) {
		const struct reduce_part *p = &r->parts[i];
		uint64_t start = p->at > offset ? p->at : offset;
		uint64_t end = p->at + p->size < offset + size ? p->at + p->size : offset + size;

		if (start >= end)
			continue;
		if (p->bytes)
			memcpy(out + (start - offset), p->bytes + (start - p->at),
			       (size_t)(end - start));
		else if (reduce_source_read(s, out + (start - offset), (size_t)(end - start),
					    p->from + (start - p->at)) != (ssize_t)(end - start))
			return false;
	}
	return true;
}

void reduce_release(struct reduced *r)
{
	free(r->parts);
	free(r->head);
	free(r->sections);
	memset(r, 0, sizeof(*r));
}
