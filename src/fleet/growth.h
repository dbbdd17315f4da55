/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What grows in a fleet: functions, or stacks, whose memory becomes more while recordings run.  Any
 * thread; each call asks the server. */
#include "fleet/range.h"

enum growth_class { GROWTH_GROWING, GROWTH_STEADY, GROWTH_SHRINKING, GROWTH_CLASSES };
extern const char *const growth_classes[GROWTH_CLASSES];

struct fleet_growing {
	const char *name;  /* the responsible function */
	const char *stack; /* by stack: functions with newlines between, innermost first; else "" */
	uint64_t before_bytes, live_bytes, live_count;
	uint64_t recordings, growing; /* growing: those in which it became more */
	uint64_t hosts, services;
	double growth; /* bytes per second, of what runs at the same time */
	double grown;  /* bytes, in all recordings together */
	double share;  /* of grown, of what all that grows has grown; 0..1 */
	enum growth_class class;
	const uint64_t *spark;
};

struct fleet_growths {
	struct fleet_growing *rows;
	size_t count, room;
	uint64_t total;
	double grown;
	uint32_t points;
	uint64_t *sparks;
	struct buf texts;
};

struct fleet_growth_options {
	bool by_stack;
	const char *search;
	const char *sort; /* FLEET_GROWTH_SORTS */
	bool descending;
	uint32_t skip, count, points;
};
#define FLEET_GROWTH_SORTS "growth|live|before|recordings|name"

/* 0, or -errno with err.  Released in either case. */
int fleet_growths_find(struct fleet_growths *g, const struct fleet_range *r,
		       const struct fleet_growth_options *o, struct err *err);
void fleet_growths_release(struct fleet_growths *g);
