/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading ELF files.  See elf_file.h. */
#include "symbols/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf_type.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "wire/elf32.h"

#define SECTIONS_MAX (1u << 20)
#define TEXTS_MAX (16u << 20)
#define NOTES_MAX (1u << 20)
#define LINK_MAX 4096
#define SEGMENTS_MAX 512

bool elf_file_is_open(const struct elf_file *f)
{
	return f->size != 0;
}

bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t size)
{
	if (offset > f->size || size > f->size - offset)
		return false;
	if (f->fd < 0) {
		memcpy(to, f->memory.data + offset, size);
		return true;
	}
	return read_at(f->fd, to, size, offset);
}

bool elf_file_header(const struct elf_file *f, Elf64_Ehdr *ret_header)
{
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr narrow;

	if (!elf_file_read(f, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != ELFDATA2LSB || ident[EI_VERSION] != EV_CURRENT)
		return false;
	if (ident[EI_CLASS] == ELFCLASS64)
		return elf_file_read(f, 0, ret_header, sizeof(*ret_header));
	if (ident[EI_CLASS] != ELFCLASS32 || !elf_file_read(f, 0, &narrow, sizeof(narrow)))
		return false;
	ELF32_HEADER(ret_header, &narrow);
	return true;
}

bool elf_file_segment(const struct elf_file *f, const Elf64_Ehdr *h, unsigned i,
		      Elf64_Phdr *ret_segment)
{
	Elf32_Phdr narrow;

	if (i >= h->e_phnum)
		return false;
	if (!f->narrow)
		return h->e_phentsize == sizeof(*ret_segment) &&
		       elf_file_read(f, h->e_phoff + i * sizeof(*ret_segment), ret_segment,
				     sizeof(*ret_segment));
	if (h->e_phentsize != sizeof(narrow) ||
	    !elf_file_read(f, h->e_phoff + i * sizeof(narrow), &narrow, sizeof(narrow)))
		return false;
	ELF32_SEGMENT(ret_segment, &narrow);
	return true;
}

static bool read_section(const struct elf_file *f, const Elf64_Ehdr *h, uint64_t i, Elf64_Shdr *ret)
{
	Elf32_Shdr narrow;

	if (!f->narrow)
		return h->e_shentsize == sizeof(*ret) &&
		       elf_file_read(f, h->e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
	if (h->e_shentsize != sizeof(narrow) ||
	    !elf_file_read(f, h->e_shoff + i * sizeof(narrow), &narrow, sizeof(narrow)))
		return false;
	ELF32_SECTION(ret, &narrow);
	return true;
}

size_t elf_file_symbol_count(const struct elf_file *f, uint64_t size)
{
	return (size_t)(size / (f->narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym)));
}

Elf64_Sym elf_file_symbol(const struct elf_file *f, const uint8_t *table, size_t i)
{
	Elf64_Sym symbol;
	Elf32_Sym narrow;
	unsigned type;

	if (f->narrow) {
		memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
		symbol = elf32_symbol(&narrow);
	} else {
		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
	}
	type = ELF64_ST_TYPE(symbol.st_info);
	if (f->machine == EM_ARM && (type == STT_FUNC || type == STT_GNU_IFUNC))
		symbol.st_value &= ~1ull;
	return symbol;
}

static bool lies_inside(const struct elf_file *f, const Elf64_Shdr *s)
{
	return s->sh_type == SHT_NOBITS ||
	       (s->sh_offset <= f->size && s->sh_size <= f->size - s->sh_offset);
}

void elf_file_foresee(const struct elf_file *f, const Elf64_Shdr *section)
{
	if (f->fd >= 0 && section->sh_type != SHT_NOBITS)
		posix_fadvise(f->fd, (off_t)section->sh_offset, (off_t)section->sh_size,
			      POSIX_FADV_WILLNEED);
}

uint8_t *elf_file_content(const struct elf_file *f, const Elf64_Shdr *section, size_t limit)
{
	uint8_t *bytes;

	if (section->sh_type == SHT_NOBITS || section->sh_size > limit || !lies_inside(f, section))
		return NULL;
	bytes = xmalloc(section->sh_size + 1);
	if (!elf_file_read(f, section->sh_offset, bytes, section->sh_size)) {
		free(bytes);
		return NULL;
	}
	bytes[section->sh_size] = 0;
	return bytes;
}

/* Section headers, with the two numbers that may have been too large for the file's head. */
static bool read_sections(struct elf_file *f, const Elf64_Ehdr *h)
{
	Elf64_Shdr first;
	uint64_t count = h->e_shnum, texts = h->e_shstrndx;

	if (!h->e_shoff)
		return true;
	if (!read_section(f, h, 0, &first))
		return false;
	if (!count)
		count = first.sh_size;
	if (texts == SHN_XINDEX)
		texts = first.sh_link;
	if (!count || count > SECTIONS_MAX || texts >= count)
		return false;
	f->count = (uint32_t)count;
	f->sections = xcalloc(count, sizeof(*f->sections));
	if (!f->narrow && !elf_file_read(f, h->e_shoff, f->sections, count * sizeof(*f->sections)))
		return false;
	for (uint64_t i = 0; f->narrow && i < count; i++)
		if (!read_section(f, h, i, &f->sections[i]))
			return false;
	f->texts = (char *)elf_file_content(f, &f->sections[texts], TEXTS_MAX);
	f->names = xcalloc(count, sizeof(*f->names));
	for (uint64_t i = 0; i < count; i++) {
		const Elf64_Shdr *s = &f->sections[i];
		bool named = f->texts && s->sh_name < f->sections[texts].sh_size;

		f->names[i] = named && i && lies_inside(f, s) ? f->texts + s->sh_name : NULL;
		if ((s->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
		    s->sh_addr < f->first_code)
			f->first_code = s->sh_addr;
	}
	return true;
}

/* Looks for the build id among notes. */
static bool take_notes(struct elf_file *f, uint64_t offset, uint64_t size)
{
	uint8_t *notes, *at;
	bool found = false;

	if (size > NOTES_MAX || size < sizeof(Elf64_Nhdr) || offset > f->size ||
	    size > f->size - offset)
		return false;
	at = notes = xmalloc(size);
	if (!elf_file_read(f, offset, notes, size))
		size = 0;
	while (size >= sizeof(Elf64_Nhdr) && !found) {
		Elf64_Nhdr n;
		uint64_t name, total;

		memcpy(&n, at, sizeof(n));
		name = (n.n_namesz + 3ull) & ~3ull;
		total = sizeof(n) + name + ((n.n_descsz + 3ull) & ~3ull);
		if (sizeof(n) + name + n.n_descsz > size)
			break;
		found = n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
			n.n_descsz <= BUILD_ID_MAX && !memcmp(at + sizeof(n), "GNU", 4);
		if (found) {
			f->build_id_size = n.n_descsz;
			memcpy(f->build_id, at + sizeof(n) + name, n.n_descsz);
		}
		if (total > size)
			break;
		at += total;
		size -= total;
	}
	free(notes);
	return found;
}

static void read_build_id(struct elf_file *f, const Elf64_Ehdr *h)
{
	for (uint32_t i = 1; i < f->count; i++)
		if (f->sections[i].sh_type == SHT_NOTE &&
		    take_notes(f, f->sections[i].sh_offset, f->sections[i].sh_size))
			return;
	for (uint32_t i = 0; i < h->e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr p;

		if (!elf_file_segment(f, h, i, &p))
			return;
		if (p.p_type == PT_NOTE && take_notes(f, p.p_offset, p.p_filesz))
			return;
	}
}

static bool elf_begin_file(struct elf_file *f)
{
	Elf64_Ehdr h;

	f->first_code = UINT64_MAX;
	if (!elf_file_header(f, &h)) {
		elf_file_release(f);
		return false;
	}
	f->narrow = h.e_ident[EI_CLASS] == ELFCLASS32;
	if (!read_sections(f, &h)) {
		elf_file_release(f);
		return false;
	}
	f->machine = h.e_machine;
	read_build_id(f, &h);
	if (f->first_code == UINT64_MAX)
		f->first_code = 1;
	return true;
}

bool elf_file_descriptor(struct elf_file *f, int fd)
{
	struct stat st;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		elf_file_release(f);
		return false;
	}
	f->size = (uint64_t)st.st_size;
	f->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	f->inode = st.st_ino;
	return elf_begin_file(f);
}

bool elf_file_open(struct elf_file *f, const char *path)
{
	struct stat st;
	/* Not to wait for a pipe that somebody has put there, nor to touch a device: the name may
	 * be a recording's. */
	int fd = !stat(path, &st) && S_ISREG(st.st_mode)
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
			 : -1;

	if (fd >= 0)
		return elf_file_descriptor(f, fd);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	return false;
}

bool elf_file_memory(struct elf_file *f, struct buf *memory)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->memory = *memory;
	f->size = memory->size;
	memset(memory, 0, sizeof(*memory));
	return elf_begin_file(f);
}

void elf_file_release(struct elf_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	buf_release(&f->memory);
	free(f->sections);
	free(f->names);
	free(f->texts);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

struct elf_file elf_file_take(struct elf_file *f)
{
	struct elf_file taken = *f;

	*f = (struct elf_file){ .fd = -1 };
	return taken;
}

const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name)
{
	for (uint32_t i = 1; i < f->count; i++)
		if (f->names[i] && f->sections[i].sh_type != SHT_NOBITS && f->sections[i].sh_size &&
		    !strcmp(f->names[i], name))
			return &f->sections[i];
	return NULL;
}

const Elf64_Shdr *elf_file_section_of_type(const struct elf_file *f, uint32_t type)
{
	for (uint32_t i = 1; i < f->count; i++)
		if (f->sections[i].sh_type == type && f->sections[i].sh_size &&
		    lies_inside(f, &f->sections[i]))
			return &f->sections[i];
	return NULL;
}

char *elf_file_debuglink(const struct elf_file *f, uint32_t *ret_crc)
{
	const Elf64_Shdr *s = elf_file_section(f, ".gnu_debuglink");
	char *text = s ? (char *)elf_file_content(f, s, LINK_MAX) : NULL;
	size_t at = text ? (strlen(text) + 4) & ~(size_t)3 : 0;

	/* A name in some folder, never a path. */
	if (!text || !*text || strchr(text, '/') || at + 4 > s->sh_size) {
		free(text);
		return NULL;
	}
	memcpy(ret_crc, text + at, 4);
	return text;
}

char *elf_file_altlink(const struct elf_file *f, uint8_t *ret_id, size_t *ret_id_size)
{
	const Elf64_Shdr *s = elf_file_section(f, ".gnu_debugaltlink");
	char *text = s ? (char *)elf_file_content(f, s, LINK_MAX) : NULL;
	size_t at = text ? strlen(text) + 1 : 0;

	if (!text || !*text || at >= s->sh_size || s->sh_size - at > BUILD_ID_MAX) {
		free(text);
		return NULL;
	}
	*ret_id_size = s->sh_size - at;
	memcpy(ret_id, text + at, *ret_id_size);
	return text;
}

uint32_t elf_file_crc(const struct elf_file *f)
{
	uint8_t bytes[65536];
	unsigned long crc = crc32(0, NULL, 0);

	for (uint64_t at = 0; at < f->size;) {
		size_t n = f->size - at < sizeof(bytes) ? (size_t)(f->size - at) : sizeof(bytes);

		if (!elf_file_read(f, at, bytes, n))
			return 0;
		crc = crc32(crc, bytes, (unsigned)n);
		at += n;
	}
	return (uint32_t)crc;
}
