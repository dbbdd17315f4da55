/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The sections of an ELF file that names and lines are read from: what symbols/ looks at, and what
 * the collector therefore puts into a recording.  Both have it from here. */

/* Without the leading ".debug_" or ".zdebug_".  What is not here (locations, frames, macros, name
 * indices) is a good third of most files. */
static const char *const debug_sections[] = {
	"info",	 "abbrev",   "line", "str",	    "line_str",
	"types", "rnglists", "addr", "str_offsets", "ranges",
};
#define DEBUG_SECTIONS (sizeof(debug_sections) / sizeof(debug_sections[0]))
