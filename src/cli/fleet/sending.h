/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Sending parcels to a fleet, or keeping them on the disk while it is away.  One thread. */
#include <time.h>

#include "fleet/spool.h"

struct sending {
	struct fleet_settings settings;
	struct fleet fleet;
	struct fleet_facts facts;
	struct spool spool;
	bool away;  /* it did not answer: parcels are kept, and it is not asked again */
	bool quiet; /* only what is wrong is said */
	struct err why;
	uint64_t spooled, dropped;
	time_t forgot;
};

/* Asks the fleet what it is like, and sends what waits from before: 0, or the exit status after
 * saying what is wrong.  Without a server it goes on where one was reached from here before.
 * `command` is "fleet push". */
int sending_open(struct sending *s, const char *command);
/* Was a whole recording of that number taken, or does it wait on the disk?  Then there is nothing
 * to do, and that is said.  What cannot be found out is false. */
bool sending_knows(struct sending *s, uint64_t recording, const char *name);
/* Sends one, or keeps it: 0, or the exit status after saying what is wrong.  `name` is for
 * messages. */
int sending_parcel(struct sending *s, const struct parcel *p, const char *name);
/* Asks again whether it is there, and sends what waits. */
void sending_again(struct sending *s);
/* Lets the server drop days that are not kept, once an hour: of what sends for ever. */
void sending_forget(struct sending *s);
/* Says what is left on the disk: the exit status. */
int sending_close(struct sending *s);
