/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packing and unpacking of row groups.  See row_group.h. */
#include "pairing/row_group.h"

#include "base/order.h"

#define NEVER_FREED 0
#define BITS_READ 57	  /* at any bit of a byte, a word of 64 holds so many */
#define RARE_SIZE (2 + 8) /* bytes of a value in the list: its row, itself */
#define SAMPLES 64	  /* addresses that the base is chosen from … */
#define SAMPLES_BELOW 2	  /* … so that about so many of them are below it */
#define DICTIONARY_SLOTS (2 * PACKED_ROWS_MAX)

static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t bits_size(uint32_t rows, unsigned bits)
{
	return aligned(((size_t)rows * bits + 7) / 8);
}

size_t packed_bound(uint32_t rows)
{
	size_t column = bits_size(rows, 64) + aligned((size_t)rows * RARE_SIZE);

	return PACKED_COLUMNS * (column + 8) + PACKED_PADDING;
}

static unsigned width_of(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* How wide values are to be, and what that costs in bits. */
struct width {
	unsigned bits;
	uint64_t cost;
};

#define WIDTH_SAMPLES 8 /* every so many rows */

/* The width that takes least, with what is wider in the list.  `most`: what the widest needs.
 * Where rows are many, some of them say enough. */
static struct width choose_width(const uint64_t *values, uint32_t n, uint64_t base, unsigned shift,
				 unsigned most)
{
	uint32_t of_width[65] = { 0 }, wider = 0,
		 step = n >= 64 * WIDTH_SAMPLES ? WIDTH_SAMPLES : 1;
	struct width best = { most > BITS_READ ? 64 : most, 0 };

	for (uint32_t i = 0; i < n; i += step)
		of_width[width_of((values[i] - base) >> shift)]++;
	best.cost = (uint64_t)n * best.bits;
	for (unsigned bits = best.bits; bits-- > 1;) {
		uint64_t cost;

		wider += of_width[bits + 1];
		cost = (uint64_t)n * bits + (uint64_t)wider * step * RARE_SIZE * 8;
		if (bits <= BITS_READ && cost < best.cost)
			best = (struct width){ bits, cost };
	}
	return best;
}

/* Most blocks are in one heap, a few far above or below it. */
static uint64_t choose_base(const uint64_t *values, uint32_t n, uint64_t low)
{
	uint64_t lowest[SAMPLES_BELOW + 1];
	unsigned count = 0;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint64_t v = values[(uint64_t)i * n / SAMPLES];
		unsigned at = count;

		if (count <= SAMPLES_BELOW)
			count++;
		else if (v >= lowest[SAMPLES_BELOW])
			continue;
		else
			at = SAMPLES_BELOW;
		for (; at && lowest[at - 1] > v; at--)
			lowest[at] = lowest[at - 1];
		lowest[at] = v;
	}
	/* The low bits that all have stay what they are. */
	return low + ((lowest[SAMPLES_BELOW] - low) & ~(uint64_t)0xfffff);
}

/* Values of `bits` each, from `out` on: whole bytes are written at once, what is left over goes in
 * front of the next value. */
struct bit_writer {
	uint8_t *out;
	uint64_t left;
	unsigned used; /* bits of it: below 8 */
};

static inline void put_bits(struct bit_writer *w, uint64_t value, unsigned bits)
{
	uint64_t word = w->left | value << w->used;
	unsigned all = w->used + bits, bytes = all / 8;

	memcpy(w->out, &word, sizeof(word));
	w->out += bytes;
	w->used = all % 8;
	w->left = bytes < 8 ? word >> (bytes * 8) : 0;
}

static size_t pack_rare(struct packed_piece *p, const uint64_t *values, uint32_t n, uint8_t *out)
{
	uint64_t mask = packed_mask(p->bits);
	uint8_t *list = out + p->beside, *rows = list;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((values[i] - p->base) >> p->shift >= mask) {
			uint16_t row = (uint16_t)i;

			memcpy(rows + count++ * sizeof(row), &row, sizeof(row));
		}
	p->count = (uint16_t)count;
	list += aligned(count * sizeof(uint16_t));
	for (uint32_t k = 0; k < count; k++) {
		uint16_t row;

		memcpy(&row, rows + k * sizeof(row), sizeof(row));
		memcpy(list + k * sizeof(uint64_t), &values[row], sizeof(uint64_t));
	}
	return (size_t)(list - out) + count * sizeof(uint64_t);
}

static size_t pack_numbers(struct packed_piece *p, const uint64_t *values, uint32_t n,
			   bool far_apart, uint8_t *out, uint64_t offset)
{
	uint64_t low = values[0], high = low, differ = 0, mask;
	struct bit_writer w = { .out = out };
	struct width width, other;

	for (uint32_t i = 0; i < n; i++)
		differ |= values[i] ^ low;
	for (uint32_t i = 0; differ && i < n; i++) {
		low = MIN(low, values[i]);
		high = MAX(high, values[i]);
	}
	*p = (struct packed_piece){ .base = low, .low = low, .high = high, .offset = offset };
	if (!differ)
		return 0;
	p->shift = (uint8_t)__builtin_ctzll(differ);
	width = choose_width(values, n, low, p->shift, width_of((high - low) >> p->shift));
	if (far_apart && n > SAMPLES) {
		uint64_t base = choose_base(values, n, low);

		other = choose_width(values, n, base, p->shift, 64);
		if (other.cost < width.cost) {
			width = other;
			p->base = base;
		}
	}
	p->bits = (uint8_t)width.bits;
	p->beside = (uint32_t)bits_size(n, width.bits);
	mask = packed_mask(width.bits);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t raw = (values[i] - p->base) >> p->shift;

		put_bits(&w, MIN(raw, mask), width.bits);
	}
	/* Where all fit, none is the sign for the list. */
	if (p->base == low && (high - low) >> p->shift <= mask)
		return p->beside;
	return pack_rare(p, values, n, out);
}

static size_t pack_words(struct packed_piece *p, const uint32_t *values, uint32_t n, uint8_t *out,
			 uint64_t offset)
{
	uint16_t slots[DICTIONARY_SLOTS], word_of[PACKED_ROWS_MAX];
	uint32_t words[PACKED_ROWS_MAX], low = values[0], count = 0, last = ~values[0];
	struct bit_writer w = { .out = out };
	uint32_t differ = 0;

	for (uint32_t i = 0; i < n; i++)
		differ |= values[i] ^ low;
	*p = (struct packed_piece){ .base = low, .low = low, .high = low, .offset = offset };
	if (!differ)
		return 0;
	memset(slots, 0xff, sizeof(slots));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = values[i], slot = v * 0x9e3779b1u >> 19;

		if (v == last) {
			word_of[i] = word_of[i - 1];
			continue;
		}
		while (slots[slot] != 0xffff && words[slots[slot]] != v)
			slot = (slot + 1) % DICTIONARY_SLOTS;
		if (slots[slot] == 0xffff) {
			slots[slot] = (uint16_t)count;
			words[count++] = v;
			p->low = MIN(p->low, v);
			p->high = MAX(p->high, v);
		}
		word_of[i] = slots[slot];
		last = v;
	}
	p->bits = (uint8_t)width_of(count - 1);
	p->count = (uint16_t)count;
	p->beside = (uint32_t)bits_size(n, p->bits);
	for (uint32_t i = 0; i < n; i++)
		put_bits(&w, word_of[i], p->bits);
	/* As long as its places are wide, so that none of them leads outside. */
	memset(&words[count], 0, ((1u << p->bits) - count) * sizeof(*words));
	memcpy(out + p->beside, words, sizeof(*words) << p->bits);
	return p->beside + (sizeof(*words) << p->bits);
}

static size_t pack_numbers32(struct packed_piece *p, const uint32_t *values, uint32_t n,
			     uint8_t *out, uint64_t offset)
{
	uint64_t wide[PACKED_ROWS_MAX];

	for (uint32_t i = 0; i < n; i++)
		wide[i] = values[i];
	return pack_numbers(p, wide, n, false, out, offset);
}

/* One column behind what is there. */
#define PACK(function, id, ...)                                                                    \
	(size += aligned(function(&g->pieces[PACKED_##id], __VA_ARGS__, out + size, offset + size)))

size_t packed_pack_head(struct row_group *g, const struct group_rows *rows, uint8_t *out,
			uint64_t offset)
{
	uint32_t n = g->rows;
	size_t size = 0;

	PACK(pack_numbers, ALLOCATED_AT, rows->allocated_at, n, false);
	PACK(pack_numbers, ADDRESS, rows->address, n, true);
	PACK(pack_numbers, SIZE, rows->size, n, false);
	PACK(pack_numbers32, SLACK, rows->slack, n);
	PACK(pack_words, MADE, rows->made, n);
	PACK(pack_numbers32, STACK, rows->stack, n);
	PACK(pack_numbers32, PREVIOUS, rows->previous, n);
	PACK(pack_numbers32, POSITION, rows->position, n);
	return size;
}

size_t packed_pack_tail(struct row_group *g, const struct group_rows *rows, uint8_t *out,
			uint64_t offset)
{
	uint32_t n = g->rows;
	size_t size = 0;

	PACK(pack_numbers, LIFETIME, rows->lifetime, n, false);
	PACK(pack_numbers32, FREE_STACK, rows->free_stack, n);
	PACK(pack_words, ENDED, rows->ended, n);
	PACK(pack_numbers32, CHAIN, rows->chain, n);
	g->freed_low = UINT64_MAX;
	g->freed_high = g->alive = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t freed = rows->allocated_at[i] + rows->lifetime[i];

		if (rows->lifetime[i] == NEVER_FREED) {
			g->alive++;
			continue;
		}
		g->freed_low = MIN(g->freed_low, freed);
		g->freed_high = MAX(g->freed_high, freed);
	}
	return size;
}

void packed_unpack_tail(const struct row_group *g, const uint8_t *head, const uint8_t *tail,
			struct group_rows *ret_rows)
{
	const struct packed_piece *p = g->pieces;
	uint32_t n = g->rows;

	packed_numbers(head, &p[PACKED_ALLOCATED_AT], 0, n, ret_rows->allocated_at);
	packed_numbers(tail, &p[PACKED_LIFETIME], 0, n, ret_rows->lifetime);
	packed_numbers32(tail, &p[PACKED_FREE_STACK], 0, n, ret_rows->free_stack);
	packed_words(tail, &p[PACKED_ENDED], 0, n, ret_rows->ended);
	packed_numbers32(tail, &p[PACKED_CHAIN], 0, n, ret_rows->chain);
}

/* The place in the list of the first row that is not before `row`. */
static uint32_t rare_from(const uint8_t *rows, uint32_t count, uint32_t row)
{
	return FIRST_WHERE(i, count, ({
				   uint16_t at;

				   memcpy(&at, rows + i * sizeof(at), sizeof(at));
				   at >= row;
			   }));
}

static uint64_t rare_value(const uint8_t *rows, uint32_t count, uint32_t i)
{
	uint64_t value;

	memcpy(&value, rows + aligned(count * sizeof(uint16_t)) + i * sizeof(value), sizeof(value));
	return value;
}

uint64_t packed_rare(const uint8_t *bits, const struct packed_piece *p, uint32_t i)
{
	const uint8_t *rows = bits + p->beside;
	uint32_t at = rare_from(rows, p->count, i);

	return rare_value(rows, p->count, at < p->count ? at : 0);
}

/* What the bits are of rows [from, from + count), without a look at the list. */
#define UNPACK(type, value)                                                                        \
	do {                                                                                       \
		const uint8_t *bits = bytes + p->offset;                                           \
		uint64_t mask = packed_mask(p->bits), base = p->base;                              \
		unsigned width = p->bits, shift = p->shift;                                        \
		uint32_t at = from * width;                                                        \
                                                                                                   \
		for (uint32_t i = 0; i < count; i++, at += width) {                                \
			uint64_t raw;                                                              \
                                                                                                   \
			memcpy(&raw, bits + at / 8, sizeof(raw));                                  \
			raw = raw >> (at % 8) & mask;                                              \
			out[i] = (type)(value);                                                    \
		}                                                                                  \
	} while (0)

#define PUT_RARE(type)                                                                             \
	do {                                                                                       \
		const uint8_t *rows = bytes + p->offset + p->beside;                               \
		uint32_t i = rare_from(rows, p->count, from);                                      \
                                                                                                   \
		for (; i < p->count; i++) {                                                        \
			uint16_t row;                                                              \
                                                                                                   \
			memcpy(&row, rows + i * sizeof(row), sizeof(row));                         \
			if (row >= from && row < from + count)                                     \
				out[row - from] = (type)rare_value(rows, p->count, i);             \
			else                                                                       \
				break;                                                             \
		}                                                                                  \
	} while (0)

void packed_numbers(const uint8_t *bytes, const struct packed_piece *p, uint32_t from,
		    uint32_t count, uint64_t *out)
{
	if (!p->bits) {
		for (uint32_t i = 0; i < count; i++)
			out[i] = p->base;
		return;
	}
	UNPACK(uint64_t, base + (raw << shift));
	if (p->count)
		PUT_RARE(uint64_t);
}

void packed_numbers32(const uint8_t *bytes, const struct packed_piece *p, uint32_t from,
		      uint32_t count, uint32_t *out)
{
	if (!p->bits) {
		for (uint32_t i = 0; i < count; i++)
			out[i] = (uint32_t)p->base;
		return;
	}
	UNPACK(uint32_t, base + (raw << shift));
	if (p->count)
		PUT_RARE(uint32_t);
}

void packed_words(const uint8_t *bytes, const struct packed_piece *p, uint32_t from, uint32_t count,
		  uint32_t *out)
{
	const uint8_t *words = bytes + p->offset + p->beside;

	if (!p->count) {
		for (uint32_t i = 0; i < count; i++)
			out[i] = (uint32_t)p->base;
		return;
	}
	UNPACK(uint32_t, ({
		       uint32_t word;

		       (void)base;
		       (void)shift;
		       memcpy(&word, words + raw * sizeof(word), sizeof(word));
		       word;
	       }));
}

static bool piece_is_good(const struct packed_piece *p, enum packed_column column, uint64_t size,
			  uint32_t rows)
{
	bool words = column == PACKED_MADE || column == PACKED_ENDED;
	uint64_t bits = bits_size(rows, p->bits), beside;

	if (p->bits > 64 || (p->bits > BITS_READ && p->bits < 64) || p->shift > 63 ||
	    p->low > p->high || size < PACKED_PADDING || p->offset > size - PACKED_PADDING)
		return false;
	size -= PACKED_PADDING + p->offset;
	if (!p->bits)
		return !p->count;
	beside = words ? p->count * sizeof(uint32_t)
		       : aligned(p->count * sizeof(uint16_t)) + p->count * sizeof(uint64_t);
	/* A place in the dictionary cannot be outside of it, whatever the bits are. */
	if (words && (!p->count || p->bits > PACKED_BITS_MAX))
		return false;
	if (words)
		beside = MAX(beside, sizeof(uint32_t) << p->bits);
	return p->count <= rows && p->beside >= bits && p->beside <= size &&
	       beside <= size - p->beside;
}

bool packed_is_good(const struct row_group *g, uint64_t size, uint32_t rows_most)
{
	if (!g->rows || g->rows > rows_most || rows_most > PACKED_ROWS_MAX || g->alive > g->rows)
		return false;
	return ALL(i, PACKED_COLUMNS,
		   piece_is_good(&g->pieces[i], (enum packed_column)i, size, g->rows));
}
