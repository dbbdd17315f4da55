/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of addresses in a file of the cache folder (base/cache_dir.h): those of a recording's
 * locations, those of a module that dumps were in.
 *
 * What would make them wrong is in the file's name, or in a stamp for each module.  The file is
 * summed, and everything in it is checked all the same before it is used.  Any thread. */
#include <stdint.h>

#include "base/buf_type.h"
#include "wire/symbols.h"

struct strings;

#define NAMES_FILE_SUFFIX ".places" /* by which cache_dir_tidy() knows it */

struct names_location {
	uint64_t address;
	uint32_t module;
	uint32_t first, count; /* of its lines; none: they were not looked for */
	uint32_t reserved;     /* so that no byte is by chance */
};

struct names_file {
	const uint64_t *stamps;
	const struct names_location *locations;
	const struct symbols_line *lines;
	const char **texts; /* that lines have the numbers of; 0 is empty */
	uint32_t stamp_count, location_count, line_count, text_count;
	void *bytes;
};

/* All zero if there is none, or none that is right. */
void names_file_read(struct names_file *f, int dir, const char *name);
void names_file_release(struct names_file *f);

/* What is to be written: arrays as above. */
struct names_parts {
	struct buf stamps, locations, lines;
	const struct strings *texts;
};

/* In place of what has that name, if the folder has room for it. */
void names_file_write(const struct names_parts *p, int dir, const char *name, uint64_t limit);
