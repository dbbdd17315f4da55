/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The tables of a fleet: made, brought up to date, and what was chosen when they were made. */
#include "fleet/fleet.h"

#define FLEET_VERSION 3
#define FLEET_STEP 60 /* seconds of a bucket, unless init says otherwise */

struct fleet_options {
	const char *cluster;	/* NULL: one server */
	const char *replicated; /* path in the coordinator; NULL: plain tables */
	uint32_t step;		/* 0: as it is, FLEET_STEP where nothing is yet */
	uint32_t keep_days;	/* 0: for ever, or as it is */
};

struct fleet_facts {
	uint32_t version, step, keep_days;
	bool cluster;
};

/* Makes the database and its tables, or brings them to this version: 0, or -errno with err.
 * *ret_before is the version that was there; 0: none. */
int fleet_init(const struct fleet *f, const struct fleet_options *o, uint32_t *ret_before,
	       struct err *err);
/* What there is: 0, or -errno with err (-ENOENT: nothing; -EPROTO: another version). */
int fleet_facts(const struct fleet *f, struct fleet_facts *ret, struct err *err);
/* Drops the days that are older than what is kept: 0, or -errno with err. */
int fleet_forget(const struct fleet *f, const struct fleet_facts *facts, struct err *err);
