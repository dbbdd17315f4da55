/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions, inlined functions and lines, from DWARF. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct lines_range {
	uint64_t start, end;
	uint64_t what; /* position of the unit, or offset of the function */
};

struct lines_unit {
	Dwarf_Die die;
	struct lines_range *functions; /* by address; made when the unit is first asked */
	size_t count, room;
	bool indexed;
};

struct lines {
	Dwarf *dwarf;
	struct lines_range *ranges; /* by address */
	size_t range_count, range_room;
	struct lines_unit *units;
	size_t unit_count, unit_room;
};

void lines_read(struct lines *l, Dwarf *dwarf);
void lines_release(struct lines *l);
/* Fills ret_symbol with what is known; false if nothing is.  The last frame may lack its name. */
bool lines_find(struct lines *l, uint64_t address, struct symbol *ret_symbol);
