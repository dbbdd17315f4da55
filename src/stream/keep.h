/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The file that a received recording goes into: one for each stream.
 *
 * It has a temporary name beside its own until keep_finish(), and a lock, as a recording has that
 * is being written.  A name that the user gave replaces what is there; one that the sender gave
 * never does, and is only a name: no folder of this machine. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "stream/protocol.h"

/* What is left free where nothing else is said: a twentieth of the disk, and no more than this. */
#define KEEP_SPARE_SHARE 20
#define KEEP_SPARE_MAX (1ull << 30)

struct keep {
	int fd;	       /* -1: nothing was received yet */
	char *path;    /* where it is to be; once finished: where it is */
	char *part;    /* where it is; NULL when it is there or gone */
	bool replaces; /* the user named the file */
	uint64_t size;
	uint64_t check_at; /* the size at which the disk is looked at again */
};

/* `output`: a file, a folder (it is there, or ends in '/'), or NULL for the working directory. */
int keep_open(struct keep *k, const char *output, const struct stream_hello *hello,
	      struct err *err);
int keep_add(struct keep *k, const void *bytes, size_t size, bool spare, struct err *err);
/* Gives it its name. */
int keep_finish(struct keep *k, struct err *err);
/* Takes away what was not finished. */
void keep_release(struct keep *k);

/* The sender's name for the file, made harmless; one of our own where there is none.  Yours. */
char *keep_name(const struct stream_hello *hello);
