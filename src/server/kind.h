/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What kinds of files the server opens: a row for each in kind.c. */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/places.h"
#include "server/snapshot.h"

#define KIND_HEAD 64 /* bytes of a file that tell its kind */

struct loading {
	const char *path;
	struct places_options names; /* where names are looked for */
	model_progress progress;     /* done out of total, of all that there is to do */
	void *context;
};

struct kind {
	const char *name; /* "recording" */
	/* By the first bytes of a file; ret_id is 32 digits that tell it from others. */
	bool (*is)(const unsigned char *head, size_t size, char ret_id[ID_SIZE]);
	/* Fills a snapshot: 0, or -errno with err. */
	int (*load)(struct snapshot *s, const struct loading *l, struct err *err);
};

/* The kind of a file: NULL with err if it is none, or cannot be read. */
const struct kind *kind_of(const char *path, char ret_id[ID_SIZE], struct err *err);
