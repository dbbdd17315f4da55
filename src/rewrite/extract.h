/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files that are embedded in a recording, written below a folder.
 *
 * Their names come from the recording and are not trusted: every part of a path is opened by itself
 * and never through a link, parts that mean something to the kernel become harmless, and nothing
 * that is there already is written to.  A second file of a name gets ".000", ".001" … behind it. */
#include <sys/types.h>

#include "base/err.h"
#include "model/model.h"

struct buf;

struct extract {
	const struct model *model;
	int folder;  /* descriptor */
	mode_t mode; /* of files: the recording's own */
};

/* Opens the folder, or makes it: 0 or -errno. */
int extract_open(struct extract *x, const struct model *m, const char *path, struct err *err);
/* Writes one file; `out` is set to where it is now, below the folder.  0 or -errno. */
int extract_file(struct extract *x, const struct embedded_file *f, struct buf *out,
		 struct err *err);
void extract_release(struct extract *x);
