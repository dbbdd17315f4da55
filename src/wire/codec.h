/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Events as columns: the payload of CHUNK_EVENTS.
 *
 * The collector encodes what it took out of the rings, run after run; the loader decodes it back
 * to struct event.  Each field is a column of its own, as the difference to the event before, in
 * bytes without leading zeros; how many bytes stands in a column of nibbles beside it.  Neither
 * direction has a branch that depends on the data, and the columns compress well.
 *
 * Payload: u64 horizon; varint number of events, number of runs; for each column varint bytes of
 * nibbles, varint bytes of data; then the columns' bytes, each column's nibbles before its data.
 * Columns, in order: runs (data only: varint ring, varint events, for each run), codes (data only:
 * a byte an event), stamps, addresses, sizes, stacks, slacks, other (data only).
 *
 * Code: the call for a plain allocation or deallocation; else CODEC_ESCAPE | op, and `other` holds
 * the call as a byte.  Sizes and slacks have no entry for a plain deallocation.  The entry of
 * slacks is slack << 3 | flags.  OP_THREAD has only an address (the thread id) and its two words of
 * name in `other`.
 *
 * The horizon is the clock before the last pass over the rings that is in here began: an event with
 * an earlier stamp that is still missing cannot have to do with any address used before it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/event.h"

#define CODEC_ESCAPE 0x80
#define CODEC_CHUNK_EVENTS 131072u /* at most this many in one chunk */
#define CODEC_PAD 16 /* bytes that must be readable behind a payload */

enum codec_column {
	COLUMN_RUNS, COLUMN_CODES, COLUMN_STAMPS, COLUMN_ADDRESSES, COLUMN_SIZES, COLUMN_STACKS,
	COLUMN_SLACKS, COLUMN_OTHER, COLUMN_COUNT
};

/* Differences run across all events of a chunk, whatever ring they are from. */
struct codec_state {
	uint64_t stamp, address;
	uint32_t stack;
};

struct codec_encoder {
	uint8_t *data[COLUMN_COUNT], *data_start[COLUMN_COUNT];
	uint8_t *nibbles[COLUMN_COUNT];
	uint64_t counts[COLUMN_COUNT]; /* values so far */
	struct codec_state state;
	uint32_t event_count, run_count;
};

/* Bytes of scratch memory that an encoder needs, and of the largest payload. */
size_t codec_scratch_size(void);
size_t codec_payload_bound(void);
void codec_start(struct codec_encoder *c, void *scratch);
static inline uint32_t codec_room(const struct codec_encoder *c)
{
	return CODEC_CHUNK_EVENTS - c->event_count;
}
/* Adds a run of one ring's events; n <= codec_room(). */
void codec_add(struct codec_encoder *c, uint32_t ring, const struct event *events, uint32_t n);
/* Writes the payload and returns its size.  The encoder must be started again afterwards. */
size_t codec_finish(struct codec_encoder *c, uint64_t horizon, uint8_t *out);

struct codec_decoder {
	const uint8_t *data[COLUMN_COUNT], *data_end[COLUMN_COUNT];
	const uint8_t *nibbles[COLUMN_COUNT];
	uint64_t counts[COLUMN_COUNT], limits[COLUMN_COUNT];
	struct codec_state state;
	uint64_t horizon;
	uint32_t event_count, run_count;
};

/* Checks a payload of `size` bytes (CODEC_PAD more must be readable) and prepares to read it.
 * Everything that could lead a later read astray is checked here; false if anything is off. */
bool codec_open(struct codec_decoder *d, const uint8_t *payload, size_t size);
/* The next run; false when there are no more. */
bool codec_next_run(struct codec_decoder *d, uint32_t *ret_ring, uint32_t *ret_count);
/* Decodes the next n events (a run's count, or less); false if the payload lies about itself. */
bool codec_read(struct codec_decoder *d, struct event *out, uint32_t n);
