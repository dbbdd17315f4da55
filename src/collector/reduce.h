/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* An ELF file without what nobody asks for: headers, notes, symbol and line tables, unwind tables
 * and debug links stay; code and data become sections without content, as `objcopy
 * --only-keep-debug` has them.  Section numbers and addresses are those of the file, so whoever
 * reads ELF files reads this one too.
 *
 * Only the headers are read to plan it; the rest is read where a piece of the image is asked for.
 * Called by binaries.c, on the collector's thread.  The file may be anything. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct reduce_source {
	int fd;
	const uint8_t *memory; /* NULL: the descriptor */
	uint64_t size;
};

struct reduce_part {
	uint64_t at, size;    /* in the image */
	const uint8_t *bytes; /* NULL: from the source */
	uint64_t from;
};

struct reduced {
	uint64_t size;
	struct reduce_part *parts; /* ascending, with gaps that are zeros */
	size_t count, room;
	uint8_t *head, *sections; /* bytes of parts */
};

/* Reads from a source, less at its end; -1 on an error. */
ssize_t reduce_source_read(const struct reduce_source *s, void *out, size_t size, uint64_t offset);

/* What to keep. */
enum reduce_extent {
	REDUCE_TABLES,	 /* all that naming needs */
	REDUCE_EXPORTED, /* exported names where there are any: the rest is had elsewhere */
	REDUCE_NOTHING,	 /* no reduction: the image is the file */
};

/* Plans the image; false if the file's headers make no sense.  Released either way. */
bool reduce_plan(struct reduced *r, const struct reduce_source *s, enum reduce_extent extent);
/* Fills `out` from the image; false if the source cannot be read. */
bool reduce_read(const struct reduced *r, const struct reduce_source *s, uint8_t *out, size_t size,
		 uint64_t offset);
void reduce_release(struct reduced *r);
