/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The debug information of an ELF file as a small ELF image of its own, in memory: only the
 * sections that names and lines need, decompressed.
 *
 * libdw gets this instead of the file.  So any number of its handles share one copy (each would
 * decompress its own), no section lies where the file ends, nothing in a file makes it open others
 * by itself, and compressions that the installed libelf does not know work too. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"

struct flat {
	char *bytes;
	size_t size;
};

/* Is there debug information in the file at all? */
bool flat_possible(const struct elf_file *f);
/* Reads it; false if there is none, or it is damaged. */
bool flat_read(struct flat *flat, const struct elf_file *f);
void flat_release(struct flat *flat);
