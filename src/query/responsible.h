/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The responsible frame of a stack: the first one, from the allocation outwards, that is neither
 * the allocator's, a wrapper's around it, the language library's nor a runtime's.  Where there is
 * none, the one that says most: enum frame_kind is in that order.
 *
 * Names decide first (frame_kind.h); then functions that behave like wrappers are found by what
 * goes through them (wrappers.h).  Found out once for a recording and kept with its names; a view
 * that hides more has its own.  Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "query/frame_kind.h"
#include "query/view.h"

struct buf;
struct responsible {
	struct locations_derived derived;
	const struct model *model;
	struct locations *locations;
	uint8_t *kinds;		    /* by number of frame: enum frame_kind */
	uint8_t *told;		    /* the same: a rule says that it is the program's */
	uint8_t *index_of_location; /* of its frame that is preferred */
	uint32_t *location_of_node; /* that the responsible frame of its stack is in */
};

struct responsible_frame {
	uint32_t location; /* see locations.h */
	uint32_t index;	   /* of the frame in it */
	enum frame_kind kind;
};

/* What a stack allocated. */
struct stack_traffic {
	uint32_t stack;
	uint64_t count, min_size, max_size;
};

const struct responsible *responsible_of_view(const struct view *v);
/* With what a filter says of frames beyond the rules (filter_hide(), filter_own()); NULL with err.
 */
struct responsible *responsible_new(const struct model *m, struct locations *p,
				    const struct filter *f, struct err *err);
/* Of a recording that grows, by what its stacks have allocated so far: for the nodes that it has
 * now. */
struct responsible *responsible_so_far(const struct model *m, struct locations *p,
				       const struct stack_traffic *rows, size_t count);
/* Of stacks whose frames were judged before (model/named.h): nothing is known yet, and then by
 * location, again whenever there are more. */
struct responsible *responsible_untold(const struct model *m, struct locations *p);
void responsible_tell(struct responsible *r, const uint8_t *kinds);
struct responsible *responsible_free(struct responsible *r);

/* False: it has no known stack. */
bool responsible_find(const struct responsible *r, uint32_t stack, struct responsible_frame *ret);
enum frame_kind responsible_kind(const struct responsible *r, uint32_t location, unsigned index);
/* Is it shown because a rule says so, whatever it looks like? */
bool responsible_is_told(const struct responsible *r, const struct responsible_frame *f);
/* Its function, or "libx.so+0x12ab". */
void responsible_name(const struct responsible *r, const struct responsible_frame *f,
		      struct buf *out);
/* How many frames are between the allocating call and the responsible one. */
unsigned responsible_depth(const struct responsible *r, uint32_t stack);
/* What is grouped by: equal for frames of one function, and for one place where it has no name. */
uint32_t responsible_unit(const struct responsible *r, const struct responsible_frame *f);
/* All units are below. */
uint32_t responsible_units(const struct responsible *r);
/* The string of its name, or 0, and then the place: of a unit. */
uint32_t responsible_unit_function(const struct responsible *r, uint32_t unit);
uint32_t responsible_unit_location(const struct responsible *r, uint32_t unit);
/* Chooses anew, after kinds were changed. */
void responsible_choose(struct responsible *r);
