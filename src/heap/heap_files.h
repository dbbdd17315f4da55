/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files that modules of dumps were loaded from: for heap_locations.c, while it resolves.
 *
 * With a build id, only a file that has it is one.  Without, a file is known by its name, and taken
 * unless its code is not where the dump has it.  What was not taken is said once all is done. */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap_locations.h"
#include "symbols/elf_file.h"
#include "symbols/search.h"

struct heap_file {
	uint8_t build_id[BUILD_ID_MAX]; /* the module's, or that of the file that was found */
	size_t build_id_size;
	Elf64_Phdr *loads; /* what of it is loaded, and where */
	size_t load_count;
	char **refused; /* lines about files that were not taken */
	size_t refused_count, refused_room;
	bool insisted; /* the user named one of them */
};

/* Looks in all places but those that go by build id alone, which symbols.h knows; sets the module's
 * `file`. */
void heap_files_find(struct heap_locations *p, size_t module, struct search *search,
		     struct heap_file *ret);
/* One that was found by its build id. */
void heap_files_use(struct heap_locations *p, size_t module, const char *path, struct heap_file *f);
/* From an offset in the file to the address that the file gives it; the offset if it is not loaded.
 */
uint64_t heap_files_address(const struct heap_file *f, uint64_t offset);
/* Hands the lines on that the user should see. */
void heap_files_warn(struct heap_locations *p, struct heap_file *f, bool found);
void heap_files_release(struct heap_file *f);
