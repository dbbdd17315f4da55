/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files behind one module: the binary, and where its debug information is. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct image {
	Elf *elf;     /* the module itself; NULL when it is nowhere */
	Elf *debug;   /* a separate debug file; NULL */
	Dwarf *dwarf; /* from either; NULL */
	int fd, debug_fd;
	struct buf bytes; /* of an embedded file */
};

void image_open(struct image *i, const struct symbols_module *m, symbols_embedded embedded,
		void *context);
/* The debug information, or NULL.  Large files are decompressed by this. */
Dwarf *image_dwarf(struct image *i);
/* What can be learned from it. */
enum symbols_level image_level(const struct image *i);
void image_release(struct image *i);
