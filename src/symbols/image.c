/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding a module's files.  See image.h. */
#include "symbols/image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"

#define DEBUG_ROOT "/usr/lib/debug"

static bool has_build_id(Elf *elf, const struct symbols_module *m)
{
	const void *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &id);

	if (size <= 0)
		return !m->build_id_size;
	return (size_t)size == m->build_id_size && !memcmp(id, m->build_id, (size_t)size);
}

/* Archives are none. */
static bool is_elf(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) != NULL;
}

static Elf *open_elf(const char *path, int *ret_fd)
{
	struct stat st;
	Elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return NULL;
	/* Read, not mapped: a file that is replaced meanwhile must not kill us. */
	elf = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (!elf || !is_elf(elf)) {
		elf_end(elf);
		close(fd);
		return NULL;
	}
	*ret_fd = fd;
	return elf;
}

static bool has_section(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *text = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (text && !strcmp(text, name))
			return header.sh_type != SHT_NOBITS;
	}
	return false;
}

/* The sum that a debug link carries. */
static uint32_t crc32_of(int fd)
{
	uint8_t bytes[16384];
	uint32_t crc = ~0u;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			crc ^= bytes[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		}
		at += n;
	}
	return ~crc;
}

static bool use_debug(struct image *i, const struct symbols_module *m, char *path,
		      const GElf_Word *crc)
{
	int fd;
	Elf *elf = open_elf(path, &fd);

	free(path);
	if (!elf)
		return false;
	/* A file of another build would give wrong lines, which is worse than none. */
	if (m->build_id_size ? has_build_id(elf, m) : crc && crc32_of(fd) == *crc) {
		i->debug = elf;
		i->debug_fd = fd;
		return true;
	}
	elf_end(elf);
	close(fd);
	return false;
}

static char *by_build_id(const struct symbols_module *m)
{
	struct buf path = { 0 };

	buf_printf(&path, DEBUG_ROOT "/.build-id/%02x/", m->build_id[0]);
	for (size_t i = 1; i < m->build_id_size; i++)
		buf_printf(&path, "%02x", m->build_id[i]);
	buf_text(&path, ".debug");
	return path.data;
}

static void find_debug(struct image *i, const struct symbols_module *m)
{
	const char *link;
	GElf_Word crc;
	auto_free char *copy = NULL;
	const char *folder;

	if (m->build_id_size > 1 && use_debug(i, m, by_build_id(m), NULL))
		return;
	link = i->elf ? dwelf_elf_gnu_debuglink(i->elf, &crc) : NULL;
	if (!link || !*link || strchr(link, '/') || m->path[0] != '/')
		return;
	copy = xstrdup(m->path);
	folder = dirname(copy);
	(void)(use_debug(i, m, xasprintf("%s/%s", folder, link), &crc) ||
	       use_debug(i, m, xasprintf("%s/.debug/%s", folder, link), &crc) ||
	       use_debug(i, m, xasprintf(DEBUG_ROOT "%s/%s", folder, link), &crc));
}

static void find_binary(struct image *i, const struct symbols_module *m, symbols_embedded embedded,
			void *context)
{
	i->elf = m->path[0] == '/' ? open_elf(m->path, &i->fd) : NULL;
	if (i->elf && !has_build_id(i->elf, m)) {
		elf_end(i->elf);
		close(i->fd);
		i->elf = NULL;
		i->fd = -1;
	}
	if (i->elf || !embedded || !embedded(context, m, &i->bytes) || !i->bytes.size)
		return;
	i->elf = elf_memory(i->bytes.data, i->bytes.size);
	if (i->elf && (!is_elf(i->elf) || !has_build_id(i->elf, m))) {
		elf_end(i->elf);
		i->elf = NULL;
	}
}

void image_open(struct image *i, const struct symbols_module *m, symbols_embedded embedded,
		void *context)
{
	memset(i, 0, sizeof(*i));
	i->fd = i->debug_fd = -1;
	elf_version(EV_CURRENT);
	find_binary(i, m, embedded, context);
	if (!i->elf || !has_section(i->elf, ".debug_info"))
		find_debug(i, m);
}

static Elf *with_lines(const struct image *i)
{
	if (i->debug && has_section(i->debug, ".debug_info"))
		return i->debug;
	return i->elf && has_section(i->elf, ".debug_info") ? i->elf : NULL;
}

Dwarf *image_dwarf(struct image *i)
{
	Elf *from = i->dwarf ? NULL : with_lines(i);

	if (from)
		i->dwarf = dwarf_begin_elf(from, DWARF_C_READ, NULL);
	return i->dwarf;
}

enum symbols_level image_level(const struct image *i)
{
	if (with_lines(i))
		return SYMBOLS_LINES;
	if ((i->debug && has_section(i->debug, ".symtab")) ||
	    (i->elf && has_section(i->elf, ".symtab")))
		return SYMBOLS_NAMES;
	return i->elf && has_section(i->elf, ".dynsym") ? SYMBOLS_EXPORTED : SYMBOLS_NONE;
}

void image_release(struct image *i)
{
	dwarf_end(i->dwarf);
	elf_end(i->debug);
	elf_end(i->elf);
	if (i->fd >= 0)
		close(i->fd);
	if (i->debug_fd >= 0)
		close(i->debug_fd);
	buf_release(&i->bytes);
	memset(i, 0, sizeof(*i));
	i->fd = i->debug_fd = -1;
}
