/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kind of program a file is.  See loadable.h. */
#include "wire/loadable.h"
#include "wire/arch.h"
#include "wire/elf32.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SCRIPTS_MAX 5	       /* the kernel follows no more */
#define SEGMENTS_MAX 256u      /* programs have a dozen */
#define ENTRIES_MAX 4096u      /* of a dynamic section; large programs have a hundred */
#define STRINGS_MAX (1u << 20) /* of a loader, which has a few kilobytes */

struct elf_file {
	const struct loadable_files *files;
	long fd;
	ElfW(Ehdr) header;
	/* The bytes around the last that were asked for: tables are read one entry after another.
	 */
	uint64_t at;
	long count;
	char window[512];
};

static bool read_all(struct elf_file *f, uint64_t offset, void *to, size_t size)
{
	if (offset > INT64_MAX || size > sizeof(f->window))
		return false;
	if (f->count <= 0 || offset < f->at || offset - f->at + size > (uint64_t)f->count) {
		f->at = offset;
		f->count = f->files->read(f->fd, offset, f->window, sizeof(f->window));
	}
	if (f->count < (long)size)
		return false;
	memcpy(to, f->window + (offset - f->at), size);
	return true;
}

static bool read_segment(struct elf_file *f, unsigned i, ElfW(Phdr) * ret)
{
	return i < f->header.e_phnum && i < SEGMENTS_MAX && f->header.e_phentsize == sizeof(*ret) &&
	       read_all(f, f->header.e_phoff + (uint64_t)i * sizeof(*ret), ret, sizeof(*ret));
}

static bool find_segment(struct elf_file *f, uint32_t type, ElfW(Phdr) * ret)
{
	for (unsigned i = 0; read_segment(f, i, ret); i++)
		if (ret->p_type == type)
			return true;
	return false;
}

/* Where an address of the running program is in the file; 0 if nowhere. */
static uint64_t offset_of(struct elf_file *f, uint64_t address)
{
	ElfW(Phdr) s;

	for (unsigned i = 0; read_segment(f, i, &s); i++)
		if (s.p_type == PT_LOAD && address - s.p_vaddr < s.p_filesz)
			return s.p_offset + (address - s.p_vaddr);
	return 0;
}

/* The next entry of the dynamic section with this tag. */
static bool next_entry(struct elf_file *f, const ElfW(Phdr) * dynamic, int64_t tag, unsigned *at,
		       uint64_t *ret_value)
{
	ElfW(Dyn) d;

	while (*at < ENTRIES_MAX && (uint64_t)*at * sizeof(d) < dynamic->p_filesz &&
	       read_all(f, dynamic->p_offset + (uint64_t)*at * sizeof(d), &d, sizeof(d)) &&
	       d.d_tag != DT_NULL) {
		++*at;
		if (d.d_tag != tag)
			continue;
		*ret_value = d.d_un.d_val;
		return true;
	}
	return false;
}

static bool first_entry(struct elf_file *f, const ElfW(Phdr) * dynamic, int64_t tag,
			uint64_t *ret_value)
{
	unsigned at = 0;

	return next_entry(f, dynamic, tag, &at, ret_value);
}

static bool starts_with(const char *text, const char *start)
{
	while (*start && *text == *start)
		text++, start++;
	return !*start;
}

static bool is_sanitized(struct elf_file *f)
{
	static const char runtimes[][13] = { "libasan.so", "libtsan.so", "liblsan.so",
					     "libhwasan.so" };
	uint64_t strings, name;
	ElfW(Phdr) dynamic;
	char start[13] = { 0 };

	if (!find_segment(f, PT_DYNAMIC, &dynamic) ||
	    !first_entry(f, &dynamic, DT_STRTAB, &strings))
		return false;
	strings = offset_of(f, strings);
	for (unsigned at = 0; strings && next_entry(f, &dynamic, DT_NEEDED, &at, &name);) {
		if (name > INT32_MAX || !read_all(f, strings + name, start, sizeof(start) - 1))
			continue;
		for (unsigned i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
			if (starts_with(start, runtimes[i]))
				return true;
	}
	return false;
}

/* By what every version of it has exported, whatever its file is called. */
static bool is_loader_of_glibc(struct elf_file *f)
{
	static const char mark[] = "GLIBC_PRIVATE";
	const size_t n = sizeof(mark) - 1;
	uint64_t strings, size;
	ElfW(Phdr) dynamic;
	char window[512];

	if (!find_segment(f, PT_DYNAMIC, &dynamic) ||
	    !first_entry(f, &dynamic, DT_STRTAB, &strings) ||
	    !first_entry(f, &dynamic, DT_STRSZ, &size))
		return false;
	strings = offset_of(f, strings);
	if (!strings || size > STRINGS_MAX)
		return false;
	for (uint64_t at = 0; at < size; at += sizeof(window) - n) {
		long got = f->files->read(f->fd, strings + at, window, sizeof(window));

		for (long i = 0; i + (long)n <= got; i++)
			if (!memcmp(window + i, mark, n))
				return true;
	}
	return false;
}

static bool read_header(struct elf_file *f)
{
	return read_all(f, 0, &f->header, sizeof(f->header)) &&
	       !memcmp(f->header.e_ident, ELFMAG, SELFMAG) &&
	       f->header.e_ident[EI_CLASS] == ELF_NATIVE &&
	       f->header.e_ident[EI_DATA] == ELFDATA2LSB && f->header.e_machine == ARCH_ELF_MACHINE;
}

static bool is_named_like_musl(const char *path)
{
	for (; *path; path++)
		if (starts_with(path, "/ld-musl-"))
			return true;
	return false;
}

static enum loadable look_at_loader(const struct loadable_files *files, const char *path)
{
	struct elf_file loader = { files, files->open(path) };
	bool glibc;

	if (loader.fd < 0)
		return loader.fd == -ENOENT ? LOADABLE_NO_INTERPRETER : LOADABLE_UNKNOWN;
	glibc = read_header(&loader) && is_loader_of_glibc(&loader);
	files->close(loader.fd);
	if (glibc)
		return LOADABLE_YES;
	return is_named_like_musl(path) ? LOADABLE_MUSL : LOADABLE_OTHER_LIBC;
}

static enum loadable look_at_program(struct elf_file *f, struct loadable_look *ret)
{
	ElfW(Phdr) s;

	if (!read_all(f, 0, &f->header, sizeof(f->header)))
		return LOADABLE_UNKNOWN;
	ret->machine = f->header.e_machine;
	if (ELF_NATIVE == ELFCLASS64 && f->header.e_ident[EI_CLASS] == ELFCLASS32 &&
	    (f->header.e_machine == EM_386 || f->header.e_machine == ARCH_ELF_MACHINE))
		return LOADABLE_32_BIT;
	if (!read_header(f))
		return LOADABLE_OTHER_MACHINE;
	if (!read_segment(f, 0, &s))
		return LOADABLE_UNKNOWN;
	/* Without an interpreter: the loader itself may be told to run a program. */
	if (!find_segment(f, PT_INTERP, &s))
		return is_loader_of_glibc(f) ? LOADABLE_YES : LOADABLE_STATIC;
	if (!s.p_filesz || s.p_filesz > sizeof(ret->loader) ||
	    !read_all(f, s.p_offset, ret->loader, s.p_filesz))
		return LOADABLE_UNKNOWN;
	ret->loader[s.p_filesz - 1] = 0;
	if (is_sanitized(f))
		return LOADABLE_SANITIZED;
	return look_at_loader(f->files, ret->loader);
}

/* "#! interpreter argument", as much of it as the kernel reads. */
static bool read_first_line(const struct loadable_files *files, long fd, char *ret_path)
{
	char head[256];
	long n = files->read(fd, 0, head, sizeof(head)), at = 2, start;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return false;
	while (at < n && (head[at] == ' ' || head[at] == '\t'))
		at++;
	for (start = at;
	     at < n && head[at] && head[at] != ' ' && head[at] != '\t' && head[at] != '\n';)
		at++;
	if (at == start || at == (long)sizeof(head))
		return false;
	memcpy(ret_path, head + start, (size_t)(at - start));
	ret_path[at - start] = 0;
	return true;
}

void loadable_look(const struct loadable_files *files, long fd, struct loadable_look *ret)
{
	struct elf_file f = { files, fd };
	char magic[SELFMAG];

	ret->answer = LOADABLE_UNKNOWN;
	ret->machine = 0;
	ret->interpreter[0] = ret->loader[0] = 0;
	for (int depth = 0; read_first_line(files, f.fd, ret->interpreter); depth++) {
		long next = depth < SCRIPTS_MAX ? files->open(ret->interpreter) : -ELOOP;

		if (f.fd != fd)
			files->close(f.fd);
		if (next < 0) {
			if (next == -ENOENT)
				ret->answer = LOADABLE_NO_INTERPRETER;
			return;
		}
		f.fd = next;
	}
	if (read_all(&f, 0, magic, sizeof(magic)) && !memcmp(magic, ELFMAG, SELFMAG))
		ret->answer = look_at_program(&f, ret);
	if (f.fd != fd)
		files->close(f.fd);
}
