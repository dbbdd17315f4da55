/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions, inlined functions and lines, from DWARF.
 *
 * What is known about all units is read once and shared; libdw's handles, which are not for more
 * than one thread, and what they have learned about single units belong to readers. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/flat.h"
#include "symbols/names.h"
#include "symbols/symbols.h"

struct lines_range {
	uint64_t start, end;
	uint64_t reach; /* the farthest end of this one and all before */
	uint64_t what;	/* position of the unit, or offset of the function */
};

struct lines_ranges {
	struct lines_range *rows; /* by address */
	size_t count, room;
};

struct lines_unit {
	uint64_t offset; /* of its DIE */
	uint64_t size;
	bool skeleton; /* the rest is in a .dwo file */
};

struct lines {
	const struct flat *flat, *alt; /* alt: NULL, or what dwz moved elsewhere */
	const struct names *names;
	uint64_t first_code;
	struct lines_ranges ranges;
	struct lines_unit *units;
	size_t unit_count, unit_room;
};

/* Everything is borrowed; false if libdw does not want it. */
bool lines_read(struct lines *l, const struct flat *flat, const struct flat *alt,
		const struct names *names, uint64_t first_code);
void lines_release(struct lines *l);

struct lines_reader *lines_reader_new(const struct lines *l);
struct lines_reader *lines_reader_free(struct lines_reader *r);
/* Bytes of debug information that it has looked at, which is about what it takes. */
uint64_t lines_reader_size(const struct lines_reader *r);
/* Fills ret_symbol with what is known; false if nothing is.  The last frame may lack its name. */
bool lines_find(struct lines_reader *r, uint64_t address, struct symbol *ret_symbol);
/* Adds the addresses in [start, end) at which a line of the source begins, ascending. */
void lines_steps(struct lines_reader *r, uint64_t start, uint64_t end, struct symbols_steps *steps);
