/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files behind one module: the binary, and where its debug information is. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "symbols/search.h"
#include "symbols/symbols.h"

struct image {
	const struct symbols_module *module;
	struct search *search;
	struct symbols_found *found;
	struct elf_file binary; /* the module itself */
	struct elf_file debug;	/* a separate debug file */
	struct elf_file mini;	/* what was in .gnu_debugdata */
	struct elf_file alt;	/* what dwz made several debug files share */
};

/* Finds the files and says in *found, which stays the caller's, what they are. */
void image_open(struct image *i, const struct symbols_module *m, struct search *search,
		const struct symbols_options *o, struct symbols_found *found);
/* The file with lines, or NULL. */
const struct elf_file *image_with_lines(const struct image *i);
void image_release(struct image *i);

void found_refuse(struct symbols_found *f, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void found_release(struct symbols_found *f);
