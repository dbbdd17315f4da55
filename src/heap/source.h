/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Lines of source files, for reports that show them.  One thread.
 *
 * A path of debug information is one of the machine that the program was built on.  It is looked
 * for as the user says that it has moved, below the folders that the user names (whole, then with
 * fewer and fewer folders in front), below the sysroot, and at last as it is. */
#include <stddef.h>
#include <stdint.h>

struct source_options {
	const char *const *roots; /* FROM=TO, or a folder */
	size_t root_count;
	const char *sysroot; /* or NULL */
};

struct source {
	char *text;	    /* NULL: the file is not there */
	const char **lines; /* where each begins, and where the last one ends */
	uint32_t line_count;
	char *file; /* that was read */
};

struct sources *sources_new(const struct source_options *o);
struct sources *sources_free(struct sources *s);
/* The file of a path; borrowed. */
const struct source *sources_open(struct sources *s, const char *path);
/* A line without its end, from 1 on; NULL if there is no such line. */
const char *source_line(const struct source *s, uint32_t line, size_t *ret_size);
