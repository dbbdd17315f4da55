/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* An ELF file from anywhere, read with suspicion: nothing in it is believed before it was compared
 * with the file's size.
 *
 * Only what is asked for is read, never mapped: a file that is replaced or cut meanwhile must not
 * kill us.  Little-endian: what Memoir runs on. */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"

#define BUILD_ID_MAX 64

struct elf_file {
	int fd;		   /* -1: in memory */
	struct buf memory; /* the file's bytes, where it has no descriptor */
	uint64_t size;
	uint64_t mtime_ns, inode; /* 0 in memory */
	Elf64_Shdr *sections;	  /* those that lie in the file, or take no room in it */
	char **names;		  /* of the sections; NULL at the end of `texts` */
	char *texts;
	uint32_t count;
	uint16_t machine;
	bool narrow;	     /* 32 bits: its tables are made those of 64 when they are read */
	uint64_t first_code; /* the lowest address that has code */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
};

/* Both take what they need and leave *f empty on failure.  `memory` is taken over. */
bool elf_file_open(struct elf_file *f, const char *path);
bool elf_file_memory(struct elf_file *f, struct buf *memory);
bool elf_file_descriptor(struct elf_file *f, int fd);
void elf_file_release(struct elf_file *f);
bool elf_file_is_open(const struct elf_file *f);
/* What is in *f, which is empty then. */
struct elf_file elf_file_take(struct elf_file *f);

/* A section with content, or NULL. */
const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name);
const Elf64_Shdr *elf_file_section_of_type(const struct elf_file *f, uint32_t type);
/* The file's header, and a segment's; false if there is none. */
bool elf_file_header(const struct elf_file *f, Elf64_Ehdr *ret_header);
bool elf_file_segment(const struct elf_file *f, const Elf64_Ehdr *header, unsigned i,
		      Elf64_Phdr *ret_segment);
/* How many symbols a table's content has, and one of them.  A function's address is that of its
 * code: where the lowest bit says which instructions it has, without that. */
size_t elf_file_symbol_count(const struct elf_file *f, uint64_t size);
Elf64_Sym elf_file_symbol(const struct elf_file *f, const uint8_t *table, size_t i);
/* Reads from the file; false at its end or on an error. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t size);
/* A section will be read soon: the system may begin to. */
void elf_file_foresee(const struct elf_file *f, const Elf64_Shdr *section);
/* Reads a whole section as it is in the file, into new memory with one NUL behind; NULL if it is
 * larger than `limit`. */
uint8_t *elf_file_content(const struct elf_file *f, const Elf64_Shdr *section, size_t limit);
/* .gnu_debuglink: a file name, and the sum of that file.  NULL if there is none. */
char *elf_file_debuglink(const struct elf_file *f, uint32_t *ret_crc);
/* .gnu_debugaltlink: a path and a build id.  NULL if there is none. */
char *elf_file_altlink(const struct elf_file *f, uint8_t *ret_id, size_t *ret_id_size);
/* The sum that debug links carry, over the whole file. */
uint32_t elf_file_crc(const struct elf_file *f);
