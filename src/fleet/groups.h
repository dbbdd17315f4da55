/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A fleet's recordings together: by service, host, build, label or day, and over time.  Any
 * thread; each call asks the server. */
#include "fleet/range.h"

struct fleet_group {
	const char *name;
	uint64_t recordings, hosts, services, builds;
	uint32_t started, ended;			    /* seconds since 1970 */
	uint64_t allocated_bytes, leaked_bytes, peak_bytes; /* of whole recordings */
	uint64_t live_bytes, live_count;		    /* at the end of the range */
	uint64_t before_bytes;				    /* at its begin */
	double growth;	       /* bytes per second, of what runs at the same time */
	const uint64_t *spark; /* .points figures; NULL: none were asked for */
};

struct fleet_groups {
	struct fleet_group *rows; /* of the page */
	size_t count, room;
	uint64_t total; /* rows that there are */
	uint64_t recordings, live_bytes, live_count, hosts, services;
	double growth;
	uint32_t points;
	uint64_t *sparks;
	struct buf texts;
};

struct fleet_grouping {
	const char *by, *label; /* FLEET_KEYS */
	const char *search;	/* NULL: any name */
	const char *sort;	/* FLEET_GROUP_SORTS */
	bool descending;
	uint32_t skip, count, points;
};
#define FLEET_GROUP_SORTS                                                                          \
	"live|growth|name|recordings|hosts|services|peak|leaked|allocated|started|ended"

/* 0, or -errno with err.  Released in either case. */
int fleet_groups_find(struct fleet_groups *g, const struct fleet_range *r,
		      const struct fleet_grouping *how, struct err *err);
void fleet_groups_release(struct fleet_groups *g);

/* "(SELECT …)": one row for each recording, what it had at both ends of the range (before, after,
 * after_count), its first and last bucket (b0, b1), and how much more it became between them
 * (grown). */
void fleet_write_ends(struct buf *sql, const struct fleet_range *r);

/* Curves: what was alive at each of some moments, of the whole and of the heaviest groups. */
struct fleet_curve {
	const char *name; /* NULL: of everything */
	uint64_t *live_bytes, *live_count, *allocated_bytes, *freed_bytes, *recordings;
};

struct fleet_trend {
	uint32_t points, width;	    /* width: seconds from one to the next */
	uint32_t begin;		    /* the first one's bucket */
	struct fleet_curve *curves; /* the first is of everything */
	size_t count, room;
	uint64_t *numbers;
	struct buf texts;
};
#define FLEET_POINTS_MAX 1000

/* `by` may be NULL: the whole alone; else with the `count` heaviest groups. */
int fleet_trend_find(struct fleet_trend *t, const struct fleet_range *r, uint32_t points,
		     const char *by, const char *label, uint32_t count, struct err *err);
void fleet_trend_release(struct fleet_trend *t);
