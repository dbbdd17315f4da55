/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A snapshot of jemalloc's statistics as tables for the terminal. */
#include "base/term.h"
#include "jemalloc/stats_tables.h"

struct buf;

struct stats_print {
	const struct term *term;
	struct buf *out;
	const char *sort; /* a field; NULL: as they come */
	const char *only; /* one table, or NULL */
	bool human;	  /* 1.5 MiB instead of 1,572,864 */
	bool settings;	  /* jemalloc's configuration too */
	unsigned columns; /* of the terminal, which nothing is to be wider than; 0: no limit */
};

/* Everything but the file's name: of arena `a`, or NULL; `growth` of the file's snapshots. */
void stats_print(const struct stats_print *p, struct stats *s, const struct stats_arena *a,
		 struct growth *growth);
/* Its tables of numbers: stats_print_tables.c. */
void stats_print_tables(const struct stats_print *p, const struct stats *s,
			const struct stats_arena *a);
bool stats_print_wants(const struct stats_print *p, const char *table);
/* Words behind so many blanks, in lines that the terminal has room for; "" is no line. */
void stats_print_sentence(const struct stats_print *p, unsigned indent, enum term_style style,
			  const char *text);
void stats_print_title(const struct stats_print *p, const char *text);
