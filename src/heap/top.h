/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who holds how much: each name's own amount (flat) and that of everything it calls (cumulative).
 */
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"

struct top_row {
	uint32_t name; /* of profile's names */
	struct dump_amounts flat, cum;
};

struct top {
	struct top_row *rows;
	size_t count;
};

/* Rows of all names, by flat (or cumulative) amount, the largest first; equal ones by name.  A name
 * that is in a stack twice counts once. */
void top_make(struct top *t, const struct profile *p, enum heap_measure m, bool by_cum);
void top_release(struct top *t);
