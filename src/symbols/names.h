/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions by address, from symbol tables. */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
	uint64_t start, size;
	const char *text; /* belongs to the ELF file */
	bool local;
};

struct names {
	struct name *rows; /* by address, one for each */
	size_t count, room;
	bool full; /* from .symtab, not only what is exported */
};

/* Reads the first of the two files that has a .symtab, or what is exported.  Either may be NULL. */
void names_read(struct names *n, Elf *debug, Elf *elf);
void names_release(struct names *n);
/* The mangled name of the function at an address, or NULL. */
const char *names_find(const struct names *n, uint64_t address);
