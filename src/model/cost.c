/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Memoir itself cost.  See cost.h.
 *
 * The recorder measures one event in a thousand and every wait; the collector knows how much of the
 * processor the program had, and how long it waited for that.  A program that computes is compared
 * with its processor time, one that mostly waits with the time that passed. */
#include "model/cost.h"

#define SAMPLES_MIN 8 /* fewer say nothing */

struct cost cost_of(const struct model *m)
{
	uint64_t events = model_counters(m, "events"), cpu = model_counters(m, "program_cpu_ns");
	uint64_t delay = model_counters(m, "program_delay_ns"), wall = model_runtime_ns(m);
	struct cost c = {
		.known = model_counters(m, "sampled_events") >= SAMPLES_MIN,
		.recording_ns = model_counters(m, "recording_ns"),
		.waiting_ns = model_counters(m, "ring_wait_ns"),
		.waits = model_counters(m, "ring_waits"),
		.setup_ns = model_counters(m, "setup_ns"),
		.memory = model_counters(m, "private_bytes"),
		.shared_memory = model_counters(m, "shm_bytes"),
	};
	double rest;

	c.total_ns = c.recording_ns + c.waiting_ns + c.setup_ns;
	c.event_ns = events ? (double)c.recording_ns / (double)events : 0;
	rest = (double)wall - (double)c.total_ns;
	/* Did it compute most of the time that was its own? */
	if ((double)cpu > ((double)wall - (double)(c.waiting_ns + c.setup_ns + delay)) / 2)
		rest = (double)cpu - (double)c.recording_ns;
	if (rest > 0)
		c.percent = (double)c.total_ns / rest * 100;
	else
		c.known = false;
	return c;
}
