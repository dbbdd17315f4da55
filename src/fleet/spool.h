/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Parcels that wait on the disk while the server is away.
 *
 * A folder for each fleet, bounded: what has no room pushes out the oldest, and is counted.  Files
 * have a name only when they are whole.  Several processes may use one. */
#include "fleet/parcel.h"
#include "fleet/settings.h"

struct spool {
	int dir;	/* -1: there is none */
	uint64_t limit; /* bytes */
};

struct spool_facts {
	uint64_t parcels, bytes;
	uint64_t dropped; /* parcels, ever */
};

/* Opens, or makes, the folder of this fleet: 0, or -errno with err. */
int spool_open(struct spool *s, const struct fleet_settings *settings, const struct fleet *f,
	       struct err *err);
void spool_close(struct spool *s);
/* Does such a one wait (parcel_name())? */
bool spool_has(const struct spool *s, uint64_t name);
/* 0, or -errno with err; *ret_dropped parcels had to go, perhaps this one (then -ENOSPC).  One that
 * waits already is not put again. */
int spool_put(struct spool *s, const struct parcel *p, uint64_t *ret_dropped, struct err *err);
/* Sends what waits, the oldest first, until one cannot be sent: 0, or -errno with err.  One
 * that is damaged is dropped and counted. */
int spool_drain(struct spool *s, const struct fleet *f, uint64_t *ret_sent, struct err *err);
void spool_look(const struct spool *s, struct spool_facts *ret);
/* What the fleet's tables were like when it was asked last, for when it is away: 0 or -ENOENT. */
int spool_facts_read(const struct spool *s, struct fleet_facts *ret);
void spool_facts_write(const struct spool *s, const struct fleet_facts *facts);
