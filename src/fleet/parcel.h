/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What is sent of one recording: batches of rows for the fleet's tables, each of which is taken
 * wholly or not at all, and taken once however often it is sent.
 *
 * The row in `recordings` goes first and says that somebody has begun; `parcels` has one when
 * everything is there.  Where the first is there and the second is not, each batch is looked up by
 * its id before it is sent.  One thread at a time. */
#include "fleet/schema.h"

#define PARCEL_ROWS                                                                                \
	65536u /* in a batch: one block of the server's, so that it is all or nothing              \
		*/

struct parcel_batch {
	char table[32];
	uint32_t day; /* since 1970 */
	uint64_t rows, id;
	struct buf content; /* RowBinary */
};

struct parcel {
	uint64_t recording;
	/* Of several parcels of one recording, each has its own; 0: it is the only one.  Set before
	 * batches are added. */
	uint64_t part;
	struct parcel_batch *batches;
	size_t count, room;
};

/* A new batch, for rows of one day; its id follows from its place. */
struct parcel_batch *parcel_add(struct parcel *p, const char *table, uint32_t day);
void parcel_release(struct parcel *p);

struct parcel_sent {
	bool was_there; /* all of it, before */
	uint64_t rows, bytes;
	unsigned batches, repeated; /* repeated: were there already */
};
/* 0, or -errno with err: may be tried again. */
int parcel_send(const struct parcel *p, const struct fleet *f, struct parcel_sent *ret,
		struct err *err);
/* What it is called, there and in a spool: of a whole recording, the recording's number. */
uint64_t parcel_name(const struct parcel *p);
/* Was all of such a one taken?  0, or -errno with err. */
int parcel_is_there(const struct fleet *f, uint64_t name, bool *ret_there, struct err *err);
/* Is an error one that time may mend, so that it is worth keeping the parcel? */
bool parcel_may_wait(int error);

/* As bytes, for a file; reading checks everything: 0, or -EBADMSG with err. */
void parcel_write(const struct parcel *p, struct buf *out);
int parcel_read(struct parcel *p, const void *data, size_t size, struct err *err);
