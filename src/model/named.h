/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording made of stacks whose names are known already, without addresses or events: what a
 * database of many recordings gives, so that trees and lists are made of it by the same code.
 *
 * Time zero is 1970 and a tick is a nanosecond.  One thread at a time. */
#include "base/map.h"
#include "base/strings.h"

struct named_frame {
	const char *function, *file, *module; /* "": not known */
	uint32_t line;
	uint64_t address; /* in the module; counts where there is no function */
	unsigned kind;	  /* frames that differ in this alone are different */
};

struct named {
	struct model *model;
	struct locations *locations;
	struct strings frames, modules; /* number of a text is that of its location, its module */
	uint8_t *kinds;			/* by location */
	struct map nodes;		/* by parent and location */
};

void named_init(struct named *n);
void named_release(struct named *n);
/* The node of a frame below `parent` (0: outermost). */
uint32_t named_add(struct named *n, uint32_t parent, const struct named_frame *frame);
