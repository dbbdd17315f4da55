/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What kinds of files there are, told apart and loaded for every door: kind.c has the list, and the
 * recordings; kind_<name>.c each of the others.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer/snapshot.h"
#include "base/err.h"
#include "model/locations.h"

struct buf;

#define KIND_HEAD 4096 /* bytes of a file that tell its kind */

/* A file before it is loaded. */
struct kind_file {
	int fd;
	const unsigned char *head; /* its first bytes */
	size_t size;		   /* of those */
	uint64_t device, inode;
	bool named; /* somebody asked for it; it was not only found in a folder */
};

struct loading {
	const char *path, *name;	/* name: what it is called, without its folder */
	struct locations_options names; /* where names are looked for */
	model_progress progress;	/* done out of total, of all that there is to do */
	void *context;
};

struct kind {
	const char *name; /* "recording" */
	/* By the first bytes, or more where it was named; ret_id is 32 digits that tell it from
	 * others. */
	bool (*is)(const struct kind_file *f, char ret_id[ID_SIZE]);
	/* Fills a snapshot: 0, or -errno with err. */
	int (*load)(struct snapshot *s, const struct loading *l, struct err *err);
	/* What a list of files says of a loaded one, as a member: "heap": {…}.  NULL: nothing. */
	void (*summarize)(struct json *j, const struct snapshot *s);
};

extern const struct kind kind_heap, kind_statistics;
/* A folder of recordings (answer/folder.h), which is none of the rows: no file is one. */
extern const struct kind kind_processes;

/* The kind of a file: NULL with err if it is none, or cannot be read. */
const struct kind *kind_of(const char *path, bool named, char ret_id[ID_SIZE], struct err *err);

/* The bytes of a heap profile, unpacked: 0, or -errno with err.  Released in either case. */
int kind_read_dump(struct buf *b, const char *path, struct err *err);
/* What a file without statistics seems to be, for a message. */
const char *kind_guess_statistics(const struct kind_file *f);
