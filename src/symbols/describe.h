/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* From a function's DIE and an address in it to frames with names and lines. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/names.h"
#include "symbols/symbols.h"

struct describe_unit {
	Dwarf_Die die;	    /* of the split unit where there is one */
	const char *folder; /* that relative paths start from; NULL: not known */
	int language;
	bool assembler;
	bool mangles;		 /* names of functions are given a linkage name */
	bool nests_functions;	 /* inside other functions */
	bool functions_in_types; /* with their code */
};

/* `u->die` is set; finds out the rest, and the .dwo file of a skeleton. */
void describe_unit(struct describe_unit *u, bool skeleton);
/* The frames at an address, innermost first.  `function` may be NULL: then only the line is known,
 * in one frame without a name. */
void describe(const struct describe_unit *u, Dwarf_Die *function, uint64_t address,
	      const struct names *names, struct symbol *ret_symbol);
