/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recordings that were sent to a fleet, one row each.  Any thread; asks the server. */
#include "fleet/range.h"

enum fleet_text {
	FLEET_ID,
	FLEET_KIND,
	FLEET_SERVICE,
	FLEET_HOST,
	FLEET_BUILD,
	FLEET_RELEASE,
	FLEET_COMMAND,
	FLEET_FILE,
	FLEET_LABEL_LIST, /* "name=value" with newlines between */
	FLEET_TEXTS
};

struct fleet_recording {
	const char *texts[FLEET_TEXTS];
	uint32_t started, ended, pushed; /* seconds since 1970 */
	uint32_t pid;
	uint64_t allocated_bytes, allocated_count, leaked_bytes, leaked_count;
	uint64_t peak_bytes, peak_count;
	uint64_t live_bytes; /* at the end of the range */
	double growth;	     /* bytes per second */
};

struct fleet_recordings {
	struct fleet_recording *rows;
	size_t count, room;
	uint64_t total;
	struct buf texts;
};

struct fleet_listing {
	const char *id;	  /* the begin of one's id; NULL: any */
	const char *sort; /* FLEET_RECORDING_SORTS */
	bool descending;
	uint32_t skip, count;
};
#define FLEET_RECORDING_SORTS "started|ended|live|growth|peak|leaked|allocated|service|host|release"

/* 0, or -errno with err.  Released in either case. */
int fleet_recordings_find(struct fleet_recordings *l, const struct fleet_range *r,
			  const struct fleet_listing *how, struct err *err);
void fleet_recordings_release(struct fleet_recordings *l);
