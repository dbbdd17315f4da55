/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names that were looked up already: the payload of CHUNK_SYMBOLS.
 *
 * Written by `memoir postprocess`, read by the model; host side only, but beside the rest of the
 * format.  A payload is a sequence of records, each a varint kind and what follows it.  Texts are
 * numbered from 1 through all chunks of a recording; 0 is none.  Addresses are differences to the
 * location before in the same chunk, the first to 0. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/varint.h"

#define SYMBOLS_TEXT_MAX (1u << 17)
#define SYMBOLS_FRAMES_MAX 256
#define SYMBOLS_MODULE_MAX 65535u

enum symbols_kind {
	SYMBOLS_TEXT = 1, /* counted text: gets the next number */
	SYMBOLS_LOCATION, /* module, zigzag difference of address, frame count, frames */
	SYMBOLS_MODULE,	  /* module, how much is known of it: enum symbols_level */
};

/* One line of a stack, innermost first: texts, line and column (0: not known). */
struct symbols_line {
	uint32_t function, raw_function, file;
	uint32_t line, column;
	uint32_t inlined; /* into the next one: 0 or 1 */
};

struct symbols_location {
	uint64_t address; /* as the module's ELF file counts; run-time address in no module */
	uint32_t module;  /* 0: in none */
	uint32_t count;	  /* of lines: at least 1 */
};

/* Room for a record without its text. */
#define SYMBOLS_HEAD_MAX (4 * VARINT_MAX)
#define SYMBOLS_LINE_MAX (6 * VARINT_MAX)

static inline uint8_t *symbols_put_text(uint8_t *p, size_t size)
{
	return varint_put(varint_put(p, SYMBOLS_TEXT), size);
}

static inline uint8_t *symbols_put_module(uint8_t *p, uint32_t module, unsigned level)
{
	return varint_put(varint_put(varint_put(p, SYMBOLS_MODULE), module), level);
}

/* Its lines follow; `last` is the address of the location before. */
static inline uint8_t *symbols_put_location(uint8_t *p, const struct symbols_location *location,
					    uint64_t last)
{
	p = varint_put(varint_put(p, SYMBOLS_LOCATION), location->module);
	return varint_put(varint_put(p, zigzag(location->address - last)), location->count);
}

static inline uint8_t *symbols_put_line(uint8_t *p, const struct symbols_line *l)
{
	p = varint_put(varint_put(varint_put(p, l->function), l->raw_function), l->file);
	return varint_put(varint_put(varint_put(p, l->line), l->column), l->inlined);
}

/* The next record's kind; what follows is read with the functions below.  All of them are false,
 * with *p anywhere, when there is no such thing. */
static inline bool symbols_get_kind(const uint8_t **p, const uint8_t *end, uint64_t *ret_kind)
{
	return varint_get(p, end, ret_kind);
}

static inline bool symbols_get_text(const uint8_t **p, const uint8_t *end, const char **ret_text,
				    size_t *ret_size)
{
	uint64_t size;

	if (!varint_get(p, end, &size) || size > SYMBOLS_TEXT_MAX || size > (uint64_t)(end - *p))
		return false;
	*ret_text = (const char *)*p;
	*ret_size = (size_t)size;
	*p += size;
	return true;
}

static inline bool symbols_get_module(const uint8_t **p, const uint8_t *end, uint32_t *ret_module,
				      unsigned *ret_level)
{
	uint64_t module, level;

	if (!varint_get(p, end, &module) || !varint_get(p, end, &level) ||
	    module > SYMBOLS_MODULE_MAX || level > UINT8_MAX)
		return false;
	*ret_module = (uint32_t)module;
	*ret_level = (unsigned)level;
	return true;
}

static inline bool symbols_get_location(const uint8_t **p, const uint8_t *end, uint64_t last,
					struct symbols_location *ret_location)
{
	uint64_t module, step, count;

	if (!varint_get(p, end, &module) || !varint_get(p, end, &step) ||
	    !varint_get(p, end, &count) || module > SYMBOLS_MODULE_MAX || !count ||
	    count > SYMBOLS_FRAMES_MAX)
		return false;
	*ret_location = (struct symbols_location){ last + unzigzag(step), (uint32_t)module,
						   (uint32_t)count };
	return true;
}

/* `texts` is one more than the highest number that has been given. */
static inline bool symbols_get_line(const uint8_t **p, const uint8_t *end, uint32_t texts,
				    struct symbols_line *ret_line)
{
	uint64_t v[6];

	for (unsigned i = 0; i < 6; i++)
		if (!varint_get(p, end, &v[i]) || v[i] > UINT32_MAX)
			return false;
	if (v[0] >= texts || v[1] >= texts || v[2] >= texts || v[5] > 1)
		return false;
	*ret_line = (struct symbols_line){ (uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2],
					   (uint32_t)v[3], (uint32_t)v[4], (uint32_t)v[5] };
	return true;
}
