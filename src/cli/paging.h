/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the commands that list things have in common: how many, from where, in which order, and as
 * what. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/nearest.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/waiting.h"

struct paging {
	const char *sort, *order, *color;
	uint64_t skip, count;
	bool json, csv, full, follow;
	bool descending; /* paging_check() fills these */
	struct term term;
};

#define PAGING_ALL UINT64_MAX /* count: not given */

/* Rows for a command's options; `p` is a static struct paging. */
#define PAGING_OPTIONS(p, keys)                                                                     \
	{ "sort", 's', "KEY", keys, COMMAND_TEXT, &(p).sort },                                      \
		{ "order",                                                                          \
		  0,                                                                                \
		  "asc|dsc",                                                                        \
		  "smallest or largest first",                                                      \
		  COMMAND_WORD,                                                                     \
		  &(p).order,                                                                       \
		  .words = "asc, dsc or desc" },                                                    \
		{ "skip", 0, "N", "leave out the first N", COMMAND_NUMBER, &(p).skip },             \
		{ "count",	  'n',	     "N", "show so many (20; all of them as JSON and CSV)", \
		  COMMAND_NUMBER, &(p).count },                                                     \
		{ "full", 0, NULL, "show whole stacks", COMMAND_FLAG, &(p).full },                  \
		{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &(p).json },                         \
		{ "csv", 0, NULL, "print comma-separated values", COMMAND_FLAG, &(p).csv },         \
		WAITING_ROWS,                                                                       \
		{ "follow",	'f',	    NULL, "the same, showing the totals as they grow",      \
		  COMMAND_FLAG, &(p).follow },                                                      \
	{                                                                                           \
		"color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &(p).color               \
	}

/* There is no such --sort; `near` has seen the words that there are. */
void paging_complain(const char *command, const struct nearest *near);
/* Looks at what was given; `descending` is what is meant without --order.  False after saying what
 * is wrong. */
bool paging_check(struct paging *p, const char *command, bool descending);
struct open_options paging_open(const struct paging *p);
/* count, limited to what a page can hold. */
uint32_t paging_count(const struct paging *p);
uint32_t paging_skip(const struct paging *p);
/* Writes what has gathered once it is much; false if it cannot be written. */
bool paging_flush(struct buf *out, bool end);
/* "21 to 40 of 1,234 …": the line above a table. */
void paging_title(const struct paging *p, const char *one, const char *many, uint32_t shown,
		  uint32_t total, struct buf *out);
