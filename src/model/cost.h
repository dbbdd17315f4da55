/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What Memoir itself cost the program, from the recording's own counters. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct cost {
	bool known;			/* the recording has figures, and enough of them */
	uint64_t recording_ns;		/* in the hooks, all threads together */
	uint64_t waiting_ns, waits;	/* for the collector */
	uint64_t setup_ns;		/* at the start and for new threads */
	uint64_t total_ns;		/* the three of them */
	double event_ns;		/* of recording_ns */
	double percent;			/* of what the program would have taken without */
	uint64_t memory, shared_memory; /* bytes; the latter is the collector's too */
};

struct cost cost_of(const struct model *m);
