/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names that a recording brings with it (CHUNK_SYMBOLS, wire/symbols.h): locations.c takes them
 * before it looks at any file. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/symbols.h"

struct known_location {
	uint64_t address;
	uint32_t module;
	uint32_t first, count; /* of its lines */
};

struct known {
	char **texts; /* 0 is empty, and NULL before there is any other */
	size_t text_count, text_room;
	struct known_location *locations;
	size_t location_count, location_room;
	struct symbols_line *lines;
	size_t line_count, line_room;
	uint8_t *levels; /* by module; enum symbols_level */
	size_t level_count;
};

/* Takes a whole payload; false if it is not what it should be. */
bool known_add(struct known *k, const uint8_t *payload, size_t size);
void known_release(struct known *k);
/* How much is known of a module, or 0. */
unsigned known_level(const struct known *k, uint32_t module);
/* Its locations in the order of module and address, for known_find(); the caller frees them. */
struct known_location *known_sorted(const struct known *k);
const struct known_location *known_find(const struct known_location *sorted, size_t count,
					uint32_t module, uint64_t address);
