/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What places.c and places_cache.c share. */
#include <pthread.h>

#include "base/strings.h"
#include "model/places.h"

#define BLOCK_BITS 12
#define BLOCK_SIZE (1u << BLOCK_BITS)
#define BLOCKS (1u << 18)
#define FRAMES_MAX 256 /* of one place */

struct places {
	const struct model *model;
	struct places_options options;
	struct symbols *symbols;
	struct symbols_module *modules;
	size_t module_count;
	char **calls;
	uint32_t *of_node;
	uint32_t node_count;
	struct place *rows;
	uint32_t count;
	pthread_mutex_t lock; /* around everything below, and `symbols` */
	struct strings strings;
	struct place_frame **blocks;
	uint32_t frame_count;
};

/* Takes the frames of a place, which is not resolved yet; with the lock held. */
void places_add_frames(struct places *p, struct place *place, const struct place_frame *frames,
		       uint32_t count);
