/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Work at exact intervals, with signals and keys that are looked at in between: for commands that
 * go on until they are told to stop.  One thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* "0.5", "10", "2s", "500ms", "5m" in ns; false: it is none, or 0. */
bool ticks_interval(const char *text, uint64_t *ret_ns);

/* At `start` + n * interval, however long the work between them takes. */
struct ticks {
	uint64_t interval_ns, next_ns; /* of CLOCK_MONOTONIC */
	uint64_t missed;	       /* ticks that were over when their turn came */
	int signals;		       /* a descriptor */
	bool stop;		       /* SIGTERM, SIGINT or SIGHUP asks to end */
	bool resized;		       /* SIGWINCH */
	bool suspend;		       /* SIGTSTP: the screen is to be given back first */
	bool continued;		       /* SIGCONT */
	bool key;		       /* input came: read it */
};

/* `screen`: the command has the terminal to itself, and gets SIGTSTP, SIGCONT and SIGQUIT (which
 * asks to end) here, too. */
int ticks_init(struct ticks *c, uint64_t interval_ns, bool screen, struct err *err);
void ticks_release(struct ticks *c);
/* Waits for the next tick; true when it is time.  False: a signal or (with `input` >= 0) a key came
 * first; then the flags above say which. */
bool ticks_wait(struct ticks *c, int input);
/* Reads signals that came, without waiting. */
void ticks_read_signals(struct ticks *c);
