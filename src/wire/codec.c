/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The event columns.  See codec.h for the layout.  Pure functions on caller's memory; the encoder
 * runs on the collector's draining thread and is most of what that thread does, the decoder on the
 * loader's workers. */
#include "wire/codec.h"

#include <string.h>

#include "wire/varint.h"

enum call_class { CLASS_ALLOC, CLASS_FREE, CLASS_REALLOC, CLASS_QUERY, CLASS_OTHER };

static const uint8_t call_classes[256] = {
#define HOOK(name, class) [CALL_##name] = CLASS_##class,
#include "wire/hooks.def"
#undef HOOK
};
_Static_assert(CALL_COUNT < CODEC_ESCAPE, "a call must fit beside the escape bit");

static bool has_nibbles(int column)
{
	return column >= COLUMN_STAMPS && column <= COLUMN_SLACKS;
}

/* Bytes that one event can add to a column, with room for an eight-byte store. */
#define COLUMN_BYTES (CODEC_CHUNK_EVENTS * 17u + 64u)
#define NIBBLE_BYTES (CODEC_CHUNK_EVENTS / 2 + 16u)

size_t codec_scratch_size(void)
{
	return (size_t)COLUMN_COUNT * (COLUMN_BYTES + NIBBLE_BYTES);
}

size_t codec_payload_bound(void)
{
	return codec_scratch_size() + 256;
}

void codec_start(struct codec_encoder *c, void *scratch)
{
	uint8_t *p = scratch;

	memset(c, 0, sizeof(*c));
	for (int i = 0; i < COLUMN_COUNT; i++) {
		c->data[i] = c->data_start[i] = p;
		c->nibbles[i] = p + COLUMN_BYTES;
		p += COLUMN_BYTES + NIBBLE_BYTES;
	}
}

static inline unsigned byte_length(uint64_t v)
{
	return (unsigned)(71 - __builtin_clzll(v | 1)) / 8 - (v == 0);
}

static inline void put(struct codec_encoder *c, int column, uint64_t v)
{
	unsigned length = byte_length(v);
	uint64_t i = c->counts[column]++;
	uint8_t *nibble = &c->nibbles[column][i / 2];

	*nibble = (uint8_t)(i & 1 ? *nibble | length << 4 : length);
	memcpy(c->data[column], &v, 8);
	c->data[column] += length;
}

/* Blocks are aligned: the low bits go to the top, where zeros cost nothing. */
static inline uint64_t address_key(uint64_t address)
{
	return address >> 4 | address << 60;
}

static inline uint64_t key_address(uint64_t key)
{
	return key << 4 | key >> 60;
}

void codec_add(struct codec_encoder *c, uint32_t ring, const struct event *events, uint32_t n)
{
	struct codec_state s = c->state;

	c->data[COLUMN_RUNS] = varint_put(c->data[COLUMN_RUNS], ring);
	c->data[COLUMN_RUNS] = varint_put(c->data[COLUMN_RUNS], n);
	c->run_count++;
	c->event_count += n;

	for (const struct event *e = events; e < events + n; e++) {
		unsigned op = event_op(e), call = event_call(e), class = call_classes[call];
		uint64_t key = address_key(event_address(e));
		bool plain_free = op == OP_FREE && class == CLASS_FREE && !event_size(e);

		if (plain_free || (op == OP_ALLOC && class == CLASS_ALLOC)) {
			*c->data[COLUMN_CODES]++ = (uint8_t)call;
		} else {
			*c->data[COLUMN_CODES]++ = (uint8_t)(CODEC_ESCAPE | op);
			if (op != OP_THREAD) {
				*c->data[COLUMN_OTHER]++ = (uint8_t)call;
			} else {
				memcpy(c->data[COLUMN_OTHER], &e->word2, 16);
				c->data[COLUMN_OTHER] += 16;
			}
		}
		put(c, COLUMN_STAMPS, zigzag(e->stamp - s.stamp));
		s.stamp = e->stamp;
		put(c, COLUMN_ADDRESSES, zigzag(key - s.address));
		s.address = key;
		if (op == OP_THREAD)
			continue;
		put(c, COLUMN_STACKS, zigzag((uint64_t)event_stack(e) - s.stack));
		s.stack = event_stack(e);
		if (plain_free)
			continue;
		put(c, COLUMN_SIZES, event_size(e));
		put(c, COLUMN_SLACKS, (uint64_t)event_slack(e) << 3 | (event_flags(e) & 7));
	}
	c->state = s;
}

size_t codec_finish(struct codec_encoder *c, uint64_t horizon, uint8_t *out)
{
	uint8_t *p = out;

	memcpy(p, &horizon, 8);
	p = varint_put(p + 8, c->event_count);
	p = varint_put(p, c->run_count);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		p = varint_put(p, has_nibbles(i) ? (c->counts[i] + 1) / 2 : 0);
		p = varint_put(p, (uint64_t)(c->data[i] - c->data_start[i]));
	}
	for (int i = 0; i < COLUMN_COUNT; i++) {
		size_t nibbles = has_nibbles(i) ? (c->counts[i] + 1) / 2 : 0;
		size_t data = (size_t)(c->data[i] - c->data_start[i]);

		memcpy(p, c->nibbles[i], nibbles);
		memcpy(p + nibbles, c->data_start[i], data);
		p += nibbles + data;
	}
	return (size_t)(p - out);
}

/* Do the nibbles of a column add up to its data?  Then reading it needs no further check. */
static bool column_adds_up(const uint8_t *nibbles, size_t count, size_t data)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned low = nibbles[i] & 15, high = nibbles[i] >> 4;

		if (low > 8 || high > 8)
			return false;
		sum += low + high;
	}
	return sum == data;
}

bool codec_open(struct codec_decoder *d, const uint8_t *payload, size_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	uint64_t events, runs, nibbles[COLUMN_COUNT], data[COLUMN_COUNT], total = 0;

	memset(d, 0, sizeof(*d));
	if (size < 8)
		return false;
	memcpy(&d->horizon, p, 8);
	p += 8;
	if (!varint_get(&p, end, &events) || !varint_get(&p, end, &runs))
		return false;
	if (events > CODEC_CHUNK_EVENTS || runs > size)
		return false;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!varint_get(&p, end, &nibbles[i]) || !varint_get(&p, end, &data[i]))
			return false;
		if (nibbles[i] > size || data[i] > size || (!has_nibbles(i) && nibbles[i]))
			return false;
		total += nibbles[i] + data[i];
	}
	if (total != (uint64_t)(end - p) || data[COLUMN_CODES] != events)
		return false;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		d->nibbles[i] = p;
		d->data[i] = p + nibbles[i];
		d->data_end[i] = d->data[i] + data[i];
		d->limits[i] = nibbles[i] * 2;
		if (has_nibbles(i) && !column_adds_up(p, nibbles[i], data[i]))
			return false;
		p = d->data_end[i];
	}
	/* Every event has a stamp and an address; the other columns are checked against what the
	 * codes ask of them. */
	uint64_t stacks = 0, sizes = 0, other = 0;

	for (uint64_t i = 0; i < events; i++) {
		unsigned code = d->data[COLUMN_CODES][i], op = code & ~CODEC_ESCAPE;

		if (!(code & CODEC_ESCAPE)) {
			if (code >= CALL_COUNT || call_classes[code] > CLASS_FREE)
				return false;
			stacks++;
			sizes += call_classes[code] == CLASS_ALLOC;
		} else if (op == OP_THREAD) {
			other += 16;
		} else if (op > 0 && op < OP_COUNT) {
			stacks++;
			sizes++;
			other++;
		} else {
			return false;
		}
	}
	if (d->limits[COLUMN_STAMPS] < events || d->limits[COLUMN_ADDRESSES] < events ||
	    d->limits[COLUMN_STACKS] < stacks || d->limits[COLUMN_SIZES] < sizes ||
	    d->limits[COLUMN_SLACKS] < sizes || data[COLUMN_OTHER] != other)
		return false;
	d->event_count = (uint32_t)events;
	d->run_count = (uint32_t)runs;
	return true;
}

bool codec_next_run(struct codec_decoder *d, uint32_t *ret_ring, uint32_t *ret_count)
{
	uint64_t ring, count;

	if (!d->run_count || !varint_get(&d->data[COLUMN_RUNS], d->data_end[COLUMN_RUNS], &ring) ||
	    !varint_get(&d->data[COLUMN_RUNS], d->data_end[COLUMN_RUNS], &count) ||
	    ring > UINT32_MAX || count > CODEC_CHUNK_EVENTS)
		return false;
	d->run_count--;
	*ret_ring = (uint32_t)ring;
	*ret_count = (uint32_t)count;
	return true;
}

static inline uint64_t get(struct codec_decoder *d, int column)
{
	static const uint64_t masks[16] = { 0,
					    0xff,
					    0xffff,
					    0xffffff,
					    0xffffffff,
					    0xffffffffff,
					    0xffffffffffff,
					    0xffffffffffffff,
					    0xffffffffffffffff };
	uint64_t i = d->counts[column]++, v;
	unsigned length = d->nibbles[column][i / 2] >> (i & 1) * 4 & 15;

	memcpy(&v, d->data[column], 8);
	d->data[column] += length;
	return v & masks[length];
}

bool codec_read(struct codec_decoder *d, struct event *out, uint32_t n)
{
	struct codec_state s = d->state;

	if (n > d->event_count)
		return false;
	d->event_count -= n;
	for (struct event *e = out; e < out + n; e++) {
		unsigned code = *d->data[COLUMN_CODES]++, op, call = code;
		bool plain_free = false;

		s.stamp += unzigzag(get(d, COLUMN_STAMPS));
		s.address += unzigzag(get(d, COLUMN_ADDRESSES));
		e->stamp = s.stamp;
		if (code & CODEC_ESCAPE) {
			op = code & ~CODEC_ESCAPE;
			if (op == OP_THREAD) {
				memcpy(&e->word2, d->data[COLUMN_OTHER], 16);
				d->data[COLUMN_OTHER] += 16;
				e->word1 = (key_address(s.address) & EVENT_ADDRESS_MASK) |
					   (uint64_t)OP_THREAD << 56;
				continue;
			}
			call = *d->data[COLUMN_OTHER]++;
		} else {
			plain_free = call_classes[code] == CLASS_FREE;
			op = plain_free ? OP_FREE : OP_ALLOC;
		}
		s.stack += (uint32_t)unzigzag(get(d, COLUMN_STACKS));
		e->word1 = (key_address(s.address) & EVENT_ADDRESS_MASK) | (uint64_t)op << 56;
		e->word2 = (uint64_t)call << 48;
		e->word3 = s.stack;
		if (!plain_free) {
			uint64_t size = get(d, COLUMN_SIZES), slack = get(d, COLUMN_SLACKS);

			e->word2 |= (size & EVENT_SIZE_MASK) | (slack & 7) << 56;
			e->word3 |= (slack >> 3) << 32;
		}
	}
	d->state = s;
	return true;
}
