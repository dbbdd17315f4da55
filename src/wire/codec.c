/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The event columns.  See codec.h for the layout.  Pure functions on caller's memory; the encoder
 * runs on the collector's draining thread and is most of what that thread does, the decoder on the
 * loader's workers.
 *
 * Both work in batches: one loop over the events fills or reads small arrays, one loop per column
 * packs or unpacks them.  Each loop then fits into the registers. */
#include "wire/codec.h"

#include <string.h>

#include "wire/varint.h"

#define BATCH 256u
#define AHEAD 8 /* events to ask for beforehand: they come out of another core's cache */
#define JUMP 0xffffu
#define WHOLE_BYTES 24 /* of an event that is carried whole */

enum call_class { CLASS_ALLOC, CLASS_FREE, CLASS_REALLOC, CLASS_QUERY, CLASS_OTHER };

static const uint8_t call_classes[256] = {
#define HOOK(name, class) [CALL_##name] = CLASS_##class,
#include "wire/hooks.def"
#undef HOOK
};
_Static_assert(CALL_COUNT < CODEC_AGAIN, "a call must be told from the other codes");

/* Bytes that one event can add to each column. */
static const uint8_t column_bytes[COLUMN_COUNT] = {
	[COLUMN_RUNS] = 10,	      [COLUMN_CODES] = 1, [COLUMN_STAMPS] = 1,
	[COLUMN_STAMPS2] = 1,	      [COLUMN_JUMPS] = 8, [COLUMN_ADDRESSES] = 8,
	[COLUMN_STACKS] = 8,	      [COLUMN_SIZES] = 8, [COLUMN_SLACKS] = 8,
	[COLUMN_OTHER] = WHOLE_BYTES,
};
#define SLOP 64 /* a value is stored as eight bytes, whatever its length */
#define LENGTH_BYTES (CODEC_CHUNK_EVENTS / 2 + SLOP)

static bool has_lengths(int column)
{
	return column >= COLUMN_ADDRESSES && column <= COLUMN_SLACKS;
}

static size_t column_size(int column)
{
	return (size_t)column_bytes[column] * CODEC_CHUNK_EVENTS + SLOP;
}

size_t codec_scratch_size(void)
{
	size_t size = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		size += column_size(i) + (has_lengths(i) ? LENGTH_BYTES : 0);
	return size;
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
		c->lengths[i] = p;
		p += has_lengths(i) ? LENGTH_BYTES : 0;
		c->data[i] = c->data_start[i] = p;
		p += column_size(i);
	}
}

static inline unsigned byte_length(uint64_t v)
{
	return (unsigned)(71 - __builtin_clzll(v | 1)) / 8 - (v == 0);
}

static void put_values(struct codec_encoder *c, int column, const uint64_t *values, uint32_t n)
{
	uint8_t *lengths = c->lengths[column] + c->counts[column] / 2, *p = c->data[column];
	uint32_t i = 0;

	if (n && c->counts[column] & 1) {
		unsigned length = byte_length(values[0]);

		*lengths = (uint8_t)(*lengths | length << 4);
		lengths++;
		memcpy(p, &values[0], 8);
		p += length;
		i = 1;
	}
	for (; i + 1 < n; i += 2) {
		if (i + 3 < n && !(values[i] | values[i + 1] | values[i + 2] | values[i + 3])) {
			lengths[0] = lengths[1] = 0;
			lengths += 2;
			i += 2;
			continue;
		}

		unsigned first = byte_length(values[i]), second = byte_length(values[i + 1]);

		*lengths++ = (uint8_t)(first | second << 4);
		memcpy(p, &values[i], 8);
		memcpy(p + first, &values[i + 1], 8);
		p += first + second;
	}
	if (i < n) {
		unsigned length = byte_length(values[i]);

		*lengths = (uint8_t)length;
		memcpy(p, &values[i], 8);
		p += length;
	}
	c->counts[column] += n;
	c->data[column] = p;
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

static inline uint64_t event_nature(const struct event *e)
{
	return e->word3 >> 32 | e->word1 >> 56 << 32;
}

/* An event that its stack did not have last time: returns its code. */
static unsigned put_unlike(struct codec_encoder *c, const struct event *e, uint64_t sizes[BATCH],
			   uint64_t slacks[BATCH], uint32_t *n)
{
	unsigned op = event_op(e), call = event_call(e), class = call_classes[call], code = call;

	if (op == OP_FREE && class == CLASS_FREE && call < CALL_COUNT &&
	    e->word2 == (uint64_t)call << 48 && !event_slack(e))
		return code;
	if (op != OP_ALLOC || class != CLASS_ALLOC || call >= CALL_COUNT) {
		code = CODEC_ESCAPE | (op & 0x7f);
		*c->data[COLUMN_OTHER]++ = (uint8_t)call;
	}
	sizes[*n] = event_size(e);
	slacks[*n] = (uint64_t)event_slack(e) << 8 | event_flags(e);
	++*n;
	return code;
}

/* A program that writes where it should not may hit a ring.  One event then becomes a deallocation
 * of nothing, rather than that a whole chunk cannot be read. */
static struct event mend(const struct event *e)
{
	return (struct event){ .stamp = e->stamp,
			       .word1 = (uint64_t)OP_FREE << 56,
			       .word2 = (uint64_t)CALL_free << 48 };
}
static void add_batch(struct codec_encoder *c, const struct event *events, uint32_t n)
{
	uint64_t keys[BATCH], stacks[BATCH], sizes[BATCH], slacks[BATCH];
	uint32_t used = 0, sized = 0;
	uint64_t stamp = c->state.stamp;
	struct codec_memory *memory = c->state.memory;
	struct codec_memory *before = &memory[c->state.stack % CODEC_MEMORY];
	uint8_t *codes = c->data[COLUMN_CODES], *low = c->data[COLUMN_STAMPS],
		*high = c->data[COLUMN_STAMPS2];

	for (uint32_t i = 0; i < n; i++) {
		const struct event *e = &events[i];
		uint64_t difference = e->stamp - stamp;
		struct codec_memory *m;
		uint64_t key, nature;
		uint32_t stack;
		struct event mended;

		__builtin_prefetch(e + AHEAD);
		stamp = e->stamp;
		if (__builtin_expect(difference >= JUMP, 0)) {
			memcpy(c->data[COLUMN_JUMPS], &difference, 8);
			c->data[COLUMN_JUMPS] += 8;
			difference = JUMP;
		}
		low[i] = (uint8_t)difference;
		high[i] = (uint8_t)(difference >> 8);
		if (__builtin_expect(event_op(e) - 1u >= OP_THREAD - 1u, 0)) {
			if (event_op(e) < OP_THREAD || event_op(e) >= OP_COUNT) {
				mended = mend(e);
				e = &mended;
				goto ordinary;
			}
			codes[i] = (uint8_t)(CODEC_ESCAPE | event_op(e));
			memcpy(c->data[COLUMN_OTHER], &e->word1, WHOLE_BYTES);
			c->data[COLUMN_OTHER] += WHOLE_BYTES;
			c->whole_count++;
			continue;
		}
	ordinary:
		stack = event_stack(e);
		stacks[used] = zigzag((uint64_t)stack - before->next);
		before->next = stack;
		m = before = &memory[stack % CODEC_MEMORY];
		key = address_key(event_address(e));
		keys[used++] = zigzag(key - m->key);
		m->key = key;
		nature = event_nature(e);
		codes[i] = CODEC_AGAIN;
		if (m->word2 != e->word2 || m->nature != nature) {
			codes[i] = (uint8_t)put_unlike(c, e, sizes, slacks, &sized);
			m->word2 = e->word2;
			m->nature = nature;
		}
		c->state.stack = stack;
	}
	c->state.stamp = stamp;
	c->data[COLUMN_CODES] += n;
	c->data[COLUMN_STAMPS] += n;
	c->data[COLUMN_STAMPS2] += n;
	put_values(c, COLUMN_ADDRESSES, keys, used);
	put_values(c, COLUMN_STACKS, stacks, used);
	put_values(c, COLUMN_SIZES, sizes, sized);
	put_values(c, COLUMN_SLACKS, slacks, sized);
}

void codec_add(struct codec_encoder *c, uint32_t ring, const struct event *events, uint32_t n)
{
	if (!n)
		return;
	c->data[COLUMN_RUNS] = varint_put(c->data[COLUMN_RUNS], ring);
	c->data[COLUMN_RUNS] = varint_put(c->data[COLUMN_RUNS], n);
	c->run_count++;
	c->event_count += n;
	for (; n > BATCH; events += BATCH, n -= BATCH)
		add_batch(c, events, BATCH);
	add_batch(c, events, n);
}

static size_t lengths_size(const struct codec_encoder *c, int column)
{
	return has_lengths(column) ? (c->counts[column] + 1) / 2 : 0;
}

size_t codec_finish(struct codec_encoder *c, uint64_t horizon, uint8_t *out)
{
	uint8_t *p = out;

	memcpy(p, &horizon, 8);
	p = varint_put(p + 8, c->event_count);
	p = varint_put(p, c->run_count);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		p = varint_put(p, lengths_size(c, i));
		p = varint_put(p, (uint64_t)(c->data[i] - c->data_start[i]));
	}
	for (int i = 0; i < COLUMN_COUNT; i++) {
		size_t lengths = lengths_size(c, i), data = (size_t)(c->data[i] - c->data_start[i]);

		memcpy(p, c->lengths[i], lengths);
		memcpy(p + lengths, c->data_start[i], data);
		p += lengths + data;
	}
	return (size_t)(p - out);
}

/* Do the lengths of a column add up to its data?  Then reading it needs no further check. */
static bool column_adds_up(const uint8_t *lengths, size_t count, size_t data)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned low = lengths[i] & 15, high = lengths[i] >> 4;

		if (low > 8 || high > 8)
			return false;
		sum += low + high;
	}
	return sum == data;
}

struct needs {
	uint64_t placed, sized, other, jumps;
};

/* What the codes and stamps ask of the other columns; false at a code that there is not. */
static bool count_needs(const struct codec_decoder *d, uint64_t events, struct needs *ret_needs)
{
	struct needs n = { .placed = events };

	for (uint64_t i = 0; i < events; i++) {
		unsigned code = d->data[COLUMN_CODES][i], op = code & ~CODEC_ESCAPE;

		n.jumps += (d->data[COLUMN_STAMPS][i] & d->data[COLUMN_STAMPS2][i]) == 0xff;
		if (code == CODEC_AGAIN)
			continue;
		if (!(code & CODEC_ESCAPE)) {
			if (code >= CALL_COUNT || call_classes[code] > CLASS_FREE)
				return false;
			n.sized += call_classes[code] == CLASS_ALLOC;
		} else if (op >= OP_THREAD && op < OP_COUNT) {
			n.placed--;
			n.other += WHOLE_BYTES;
		} else if (op > 0 && op < OP_THREAD) {
			n.sized++;
			n.other++;
		} else {
			return false;
		}
	}
	*ret_needs = n;
	return true;
}

bool codec_open(struct codec_decoder *d, const uint8_t *payload, size_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	uint64_t events, runs, lengths[COLUMN_COUNT], data[COLUMN_COUNT], total = 0;
	struct needs needs;

	memset(d, 0, sizeof(*d));
	if (size < 8)
		return false;
	memcpy(&d->horizon, p, 8);
	p += 8;
	if (!varint_get(&p, end, &events) || !varint_get(&p, end, &runs))
		return false;
	if (events > CODEC_CHUNK_EVENTS || runs > events)
		return false;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!varint_get(&p, end, &lengths[i]) || !varint_get(&p, end, &data[i]))
			return false;
		if (lengths[i] > size || data[i] > size || (!has_lengths(i) && lengths[i]))
			return false;
		total += lengths[i] + data[i];
	}
	if (total != (uint64_t)(end - p) || data[COLUMN_CODES] != events ||
	    data[COLUMN_STAMPS] != events || data[COLUMN_STAMPS2] != events)
		return false;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		d->lengths[i] = p;
		d->data[i] = p + lengths[i];
		d->data_end[i] = d->data[i] + data[i];
		if (has_lengths(i) && !column_adds_up(p, lengths[i], data[i]))
			return false;
		p = d->data_end[i];
	}
	if (!count_needs(d, events, &needs) || lengths[COLUMN_ADDRESSES] * 2 < needs.placed ||
	    lengths[COLUMN_STACKS] * 2 < needs.placed || lengths[COLUMN_SIZES] * 2 < needs.sized ||
	    lengths[COLUMN_SLACKS] * 2 < needs.sized || data[COLUMN_OTHER] != needs.other ||
	    data[COLUMN_JUMPS] != needs.jumps * 8)
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

static const uint64_t length_masks[16] = {
	0,
	0xff,
	0xffff,
	0xffffff,
	0xffffffff,
	0xffffffffff,
	0xffffffffffff,
	0xffffffffffffff,
	0xffffffffffffffff,
};

static void get_values(struct codec_decoder *d, int column, uint64_t *values, uint32_t n)
{
	const uint8_t *lengths = d->lengths[column], *p = d->data[column];
	uint64_t at = d->counts[column];

	for (uint32_t i = 0; i < n; i++, at++) {
		unsigned length = lengths[at / 2] >> (at & 1) * 4 & 15;
		uint64_t v;

		memcpy(&v, p, 8);
		values[i] = v & length_masks[length];
		p += length;
	}
	d->counts[column] = at;
	d->data[column] = p;
}

/* How many events of a batch have an address and stack, and how many a size. */
static void count_batch(const uint8_t *codes, uint32_t n, uint32_t *ret_placed, uint32_t *ret_sized)
{
	uint32_t wholes = 0, sized = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned code = codes[i];
		bool whole = code >= (CODEC_ESCAPE | OP_THREAD);

		wholes += whole;
		sized += code & CODEC_ESCAPE ? !whole : (code != CODEC_AGAIN) & !call_classes[code];
	}
	*ret_placed = n - wholes;
	*ret_sized = sized;
}
_Static_assert(CLASS_ALLOC == 0, "count_batch tells it by that");

/* What a code other than CODEC_AGAIN says of an event; moves on in sizes and slacks. */
static void get_unlike(struct codec_decoder *d, unsigned code, struct codec_memory *m,
		       const uint64_t *sizes, const uint64_t *slacks, uint32_t *at)
{
	uint64_t op, call = code, size = 0, slack = 0;

	if (code & CODEC_ESCAPE) {
		op = code & ~CODEC_ESCAPE;
		call = *d->data[COLUMN_OTHER]++;
	} else {
		op = call_classes[code] == CLASS_FREE ? OP_FREE : OP_ALLOC;
	}
	if (code & CODEC_ESCAPE || op == OP_ALLOC) {
		size = sizes[*at] & EVENT_SIZE_MASK;
		slack = slacks[*at];
		++*at;
	}
	m->word2 = size | call << 48 | slack << 56;
	m->nature = (slack >> 8 & 0xffffffff) | op << 32;
}

static bool read_batch(struct codec_decoder *d, struct event *out, uint32_t n)
{
	uint64_t keys[BATCH], stacks[BATCH], sizes[BATCH], slacks[BATCH];
	const uint8_t *codes = d->data[COLUMN_CODES], *low = d->data[COLUMN_STAMPS],
		      *high = d->data[COLUMN_STAMPS2];
	uint32_t placed, sized, at = 0, size_at = 0, stack = d->state.stack;
	uint64_t stamp = d->state.stamp, known = 1;
	struct codec_memory *memory = d->state.memory, *m = &memory[stack % CODEC_MEMORY];

	count_batch(codes, n, &placed, &sized);
	get_values(d, COLUMN_ADDRESSES, keys, placed);
	get_values(d, COLUMN_STACKS, stacks, placed);
	get_values(d, COLUMN_SIZES, sizes, sized);
	get_values(d, COLUMN_SLACKS, slacks, sized);
	for (uint32_t i = 0; i < n; i++) {
		struct event *e = &out[i];
		uint64_t difference = low[i] | (uint64_t)high[i] << 8;

		if (__builtin_expect(difference == JUMP, 0)) {
			memcpy(&difference, d->data[COLUMN_JUMPS], 8);
			d->data[COLUMN_JUMPS] += 8;
		}
		stamp += difference;
		e->stamp = stamp;
		if (__builtin_expect(codes[i] >= (CODEC_ESCAPE | OP_THREAD), 0)) {
			memcpy(&e->word1, d->data[COLUMN_OTHER], WHOLE_BYTES);
			d->data[COLUMN_OTHER] += WHOLE_BYTES;
			/* Whatever the bytes are, it is what the code says. */
			e->word1 = (e->word1 & EVENT_ADDRESS_MASK) |
				   (uint64_t)(codes[i] & ~CODEC_ESCAPE) << 56;
			continue;
		}
		stack = m->next + (uint32_t)unzigzag(stacks[at]);
		m->next = stack;
		m = &memory[stack % CODEC_MEMORY];
		m->key += unzigzag(keys[at++]);
		if (codes[i] != CODEC_AGAIN)
			get_unlike(d, codes[i], m, sizes, slacks, &size_at);
		known &= m->nature >> 32 != 0;
		e->word1 = (key_address(m->key) & EVENT_ADDRESS_MASK) | m->nature >> 32 << 56;
		e->word2 = m->word2;
		e->word3 = stack | m->nature << 32;
	}
	d->state.stamp = stamp;
	d->state.stack = stack;
	d->data[COLUMN_CODES] += n;
	d->data[COLUMN_STAMPS] += n;
	d->data[COLUMN_STAMPS2] += n;
	return known;
}

bool codec_read(struct codec_decoder *d, struct event *out, uint32_t n)
{
	if (n > d->event_count)
		return false;
	d->event_count -= n;
	for (; n > BATCH; out += BATCH, n -= BATCH)
		if (!read_batch(d, out, BATCH))
			return false;
	return read_batch(d, out, n);
}
