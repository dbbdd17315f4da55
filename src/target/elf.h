/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Looking into a loaded ELF file's own tables.
 *
 * Instead of dlsym, which takes the loader's lock, allocates, leaves an error text behind for the
 * program, and answers with the address of a PLT entry where an executable took a function's
 * address. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "target/attributes.h"

/* The loader's search for the file at an address: lock-free, in glibc 2.35 and later. */
extern int _dl_find_object(void *address, struct dl_find_object *ret) __attribute__((weak));

struct elf_image {
	const struct link_map *map;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint16_t *versions; /* NULL: none */
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Rela) * rela[2]; /* data, then functions */
	uint64_t rela_size[2];
	/* Where relocations have no addend of their own, the same.  And a table whose slots from
	 * `got_first` on are those of the symbols from `got_symbol` on, up to the last. */
	const ElfW(Rel) * rel[2];
	uint64_t rel_size[2];
	uintptr_t *got;
	uint64_t got_first, got_symbol, symbol_count;
};

/* False if the file has no symbols, or is the kernel's. */
bool elf_read(const struct link_map *map, struct elf_image *ret) HIDDEN;
/* The function that the file itself defines under this name, in its default version. */
void *elf_find(const struct elf_image *image, const char *name) HIDDEN;
/* A variable of it. */
void *elf_find_object(const struct elf_image *image, const char *name) HIDDEN;
