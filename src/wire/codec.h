/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Events as columns: the payload of CHUNK_EVENTS.
 *
 * The collector encodes what it took out of the rings, run after run; the loader decodes it back
 * to struct event.  Each field is a column of its own.  What a stack did last time is what it most
 * likely does again, so both sides keep a small table of that and most events come down to a stamp;
 * the rest compresses well.
 *
 * Payload: u64 horizon; varint number of events, number of runs; for each column varint bytes of
 * lengths, varint bytes of data; then the columns' bytes, each column's lengths before its data.
 * Columns, in order:
 *
 * runs       for each run: varint ring, varint events
 * codes      a byte an event: see below
 * stamps     a byte an event: the low byte of the difference to the stamp before
 * stamps2    a byte an event: its high byte.  65535 means that the difference is in `jumps`
 * jumps      u64 differences, modulo 2^64
 * addresses  values: zigzag(key - the stack's last key), where the key of an address is the address
 *            turned right by 4 bits; not for OP_THREAD and above
 * stacks     values: zigzag(stack - what followed the stack before last time); the same
 * sizes      values: for codes that have one
 * slacks     values: slack << 8 | flags; where sizes has one
 * other      bytes: see codes
 *
 * A value is stored in 0 to 8 bytes, least significant first, without leading zeros; how many
 * stands in the column's lengths, four bits each, the low half of a byte first.
 *
 * Code: CODEC_AGAIN: op, call, size, slack and flags are those that the stack had last time.
 * Else the call, for a plain allocation (with size and slack) or a plain deallocation (without:
 * they and the flags are 0).  Else CODEC_ESCAPE | op with size and slack, and `other` holds the
 * call as a byte; or, for OP_THREAD and above, `other` holds the event's last three words.
 *
 * The table has CODEC_MEMORY rows, all zero when a chunk starts; a stack's row is its number modulo
 * that.  The stack before the first is 0.  Everything goes on from run to run.
 *
 * The horizon is the clock before the last whole pass over the rings that is in here began: an
 * event with an earlier stamp that is still missing cannot have to do with any address used before
 * it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/event.h"

#define CODEC_ESCAPE 0x80
#define CODEC_AGAIN 0x7f
#define CODEC_CHUNK_EVENTS 65536u /* at most this many in one chunk */
#define CODEC_PAD 16		  /* bytes that must be readable behind a payload */
#define CODEC_MEMORY 2048u

enum codec_column {
	COLUMN_RUNS,
	COLUMN_CODES,
	COLUMN_STAMPS,
	COLUMN_STAMPS2,
	COLUMN_JUMPS,
	COLUMN_ADDRESSES,
	COLUMN_STACKS,
	COLUMN_SIZES,
	COLUMN_SLACKS,
	COLUMN_OTHER,
	COLUMN_COUNT
};

/* What a stack did last time. */
struct codec_memory {
	uint64_t word2;	 /* size, call, flags */
	uint64_t nature; /* slack : 32, op : 32; 0: nothing yet */
	uint64_t key;	 /* of the address */
	uint32_t next;	 /* the stack that came after it */
	uint32_t unused;
};

struct codec_state {
	uint64_t stamp;
	uint32_t stack;
	struct codec_memory memory[CODEC_MEMORY];
};

struct codec_encoder {
	uint8_t *data[COLUMN_COUNT], *data_start[COLUMN_COUNT];
	uint8_t *lengths[COLUMN_COUNT];
	uint64_t counts[COLUMN_COUNT]; /* values so far */
	uint32_t event_count, run_count;
	uint32_t whole_count; /* events that are carried whole */
	struct codec_state state;
};

/* Bytes of scratch memory that an encoder needs, and of the largest payload. */
size_t codec_scratch_size(void);
size_t codec_payload_bound(void);
void codec_start(struct codec_encoder *c, void *scratch);
static inline uint32_t codec_room(const struct codec_encoder *c)
{
	return CODEC_CHUNK_EVENTS - c->event_count;
}
/* Adds a run of one ring's events; n <= codec_room().  What has no op that there is becomes a
 * deallocation of address 0. */
void codec_add(struct codec_encoder *c, uint32_t ring, const struct event *events, uint32_t n);
/* Writes the payload and returns its size.  The encoder must be started again afterwards. */
size_t codec_finish(struct codec_encoder *c, uint64_t horizon, uint8_t *out);

struct codec_decoder {
	const uint8_t *data[COLUMN_COUNT], *data_end[COLUMN_COUNT];
	const uint8_t *lengths[COLUMN_COUNT];
	uint64_t counts[COLUMN_COUNT];
	uint64_t horizon;
	uint32_t event_count, run_count;
	struct codec_state state;
};

/* Checks a payload of `size` bytes (CODEC_PAD more must be readable) and prepares to read it.
 * Everything that could lead a later read astray is checked here; false if anything is off. */
bool codec_open(struct codec_decoder *d, const uint8_t *payload, size_t size);
/* The next run; false when there are no more. */
bool codec_next_run(struct codec_decoder *d, uint32_t *ret_ring, uint32_t *ret_count);
/* Decodes the next n events (a run's count, or less); false if the payload lies about itself. */
bool codec_read(struct codec_decoder *d, struct event *out, uint32_t n);
