/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Python functions, as the recorder hands them to the collector.
 *
 * A Python frame is a stack node in a module that there is not, with PYTHON_ADDRESS set; the rest
 * of it is the number of the code and the place in it.  In a recording it is in no module.  Which
 * code that is stands in records, one behind the other in segments of the shared memory: written
 * once, before the first node that has its number, and `size` last. */
#include <stdatomic.h>
#include <stdint.h>

#define PYTHON_ADDRESS (1ull << 47)
#define PYTHON_MODULE (0xffffull << 48) /* see MAX_MODULES in recorder/modules.c */
#define PYTHON_REST_MASK (PYTHON_ADDRESS - 1)
#define PYTHON_PLACE_BITS 20 /* of an instruction, in units of two bytes */
#define PYTHON_PLACE_MASK ((1u << PYTHON_PLACE_BITS) - 1)
#define PYTHON_CODES_MAX (1u << (47 - PYTHON_PLACE_BITS))

#define PYTHON_SEGMENT_SIZE (1u << 20)
#define PYTHON_SEGMENTS_MAX 1024u
#define PYTHON_TEXT_MAX 1024u	    /* bytes of a name, and of a file's: the end of it if longer */
#define PYTHON_LINES_MAX (1u << 16) /* bytes of a table of lines; no longer one is kept */

struct python_record {
	_Atomic uint32_t size; /* of all of it, in eights; 0: not there (yet) */
	uint32_t number;
	uint32_t first_line;
	uint32_t lines_size;
	uint16_t name_size, file_size;
	uint32_t pad;
	uint8_t bytes[]; /* name, file, table of lines */
};

static inline uint64_t python_address(uint32_t code, uint32_t place)
{
	return PYTHON_MODULE | PYTHON_ADDRESS | (uint64_t)code << PYTHON_PLACE_BITS | place;
}

_Static_assert(sizeof(struct python_record) == 24, "a multiple of eight");
