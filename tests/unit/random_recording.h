/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Small recordings of random traffic: what property tests compare with a brute-force answer. */
#include <stdbool.h>

#include "model/model.h"
#include "self.h"

struct random_options {
	uint64_t seed;
	uint32_t events;	   /* about so many */
	uint32_t nodes;		   /* of the trie; 40 if 0 */
	const struct self *self;   /* its only module is this program, else one without symbols */
	const uint64_t *addresses; /* that nodes are given in it, or NULL: made up */
	uint32_t address_count;
	/* Also flags, several calls, named threads, markers, stacks that are not in the recording,
	 * and statistics of what was removed. */
	bool rich;
	const char *(*facts)[2]; /* what it says of its program, or NULL: key and text, NULL at the
				    end */
};

/* Blocks never overlap, lie in pages of several kinds, and have slack; some stacks are unknown. */
struct model *random_recording(const struct random_options *o);
/* The generator's numbers, for callers that go on with them. */
uint32_t random_below(uint64_t *state, uint32_t n);
