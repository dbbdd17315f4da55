/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Records at the end of a file, whole or not at all, with rotation.
 *
 * Each record is one write, and where that fails in the middle the file is cut back.  A file that
 * is full is renamed to NAME.1 (what was that to NAME.2 …) between two records, so that each record
 * is in exactly one file.  A name that ends in .gz or .zst has each record packed by itself; such
 * files read as one. */
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"

struct buf;

struct journal {
	const char *path; /* "-": standard output */
	uint64_t limit;	  /* bytes of a file; 0: one file */
	unsigned keep;	  /* rotated files; 0: all */
	enum sink_codec codec;
	int fd;
	uint64_t size;
	unsigned rotations;
};

/* 0, or -errno with err.  What the file holds already stays. */
int journal_open(struct journal *j, const char *path, uint64_t limit, unsigned keep,
		 struct err *err);
int journal_add(struct journal *j, const struct buf *record, struct err *err);
/* Begins another file now. */
int journal_rotate(struct journal *j, struct err *err);
/* 0, or what only closing tells. */
int journal_close(struct journal *j, struct err *err);
