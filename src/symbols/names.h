/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions by address, from symbol tables.  Once read, any thread may look. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"

struct name {
	uint64_t start, size;
	uint64_t reach;	  /* the farthest end of this one and all before */
	const char *text; /* in one of `tables` */
	bool local;
};

struct names {
	struct name *rows; /* by address, one for each */
	size_t count, room;
	char **tables;
	size_t table_count, table_room;
	bool full; /* from .symtab, not only what is exported */
};

/* Adds the names of one table, SHT_SYMTAB or SHT_DYNSYM; false if there is none. */
bool names_add(struct names *n, const struct elf_file *f, uint32_t table);
/* To be called when all are there. */
void names_sort(struct names *n);
void names_release(struct names *n);
/* The function at an address, or NULL: one without a size may begin there only. */
const struct name *names_row(const struct names *n, uint64_t address);
/* The mangled name of the function at an address, or NULL. */
const char *names_find(const struct names *n, uint64_t address);
/* Where its code ends: without a size, where the next one begins. */
uint64_t names_end(const struct names *n, const struct name *row);
/* Only of one that starts exactly there. */
const char *names_starting_at(const struct names *n, uint64_t address);
