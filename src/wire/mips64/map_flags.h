/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What mmap was told: recordings have the numbers that nearly all processors have, MIPS has others.
 */

static inline unsigned map_flags_common(unsigned flags)
{
	static const struct {
		unsigned here, elsewhere;
	} rows[] = {
		{ 0x400, 0x4000 },    /* MAP_NORESERVE */
		{ 0x800, 0x20 },      /* MAP_ANONYMOUS */
		{ 0x1000, 0x100 },    /* MAP_GROWSDOWN */
		{ 0x2000, 0x800 },    /* MAP_DENYWRITE */
		{ 0x4000, 0x1000 },   /* MAP_EXECUTABLE */
		{ 0x8000, 0x2000 },   /* MAP_LOCKED */
		{ 0x10000, 0x8000 },  /* MAP_POPULATE */
		{ 0x20000, 0x10000 }, /* MAP_NONBLOCK */
		{ 0x40000, 0x20000 }, /* MAP_STACK */
		{ 0x80000, 0x40000 }, /* MAP_HUGETLB */
	};
	unsigned common = flags & 0x1fu; /* kinds, and MAP_FIXED */

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		common |= flags & rows[i].here ? rows[i].elsewhere : 0;
	return common | (flags & 0x100000u); /* MAP_FIXED_NOREPLACE */
}
