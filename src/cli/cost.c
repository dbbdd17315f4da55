/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Memoir itself cost.  See cost.h.
 *
 * The recorder measures one event in a thousand and every wait; the collector knows how much of the
 * processor the program had, and how long it waited for that.  A program that computes is compared
 * with its processor time, one that mostly waits with the time that passed. */
#include "cli/cost.h"

#include "base/human.h"
#include "cli/about.h"

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

void cost_json(struct json *j, const struct model *m)
{
	struct cost c = cost_of(m);

	json_object(j, "cost");
	if (c.known)
		json_real(j, "percent", c.percent, 1);
	else
		json_null(j, "percent");
	json_number(j, "ns", c.total_ns);
	json_number(j, "recording_ns", c.recording_ns);
	json_real(j, "event_ns", c.event_ns, 1);
	json_number(j, "setup_ns", c.setup_ns);
	json_number(j, "waits", c.waits);
	json_number(j, "waiting_ns", c.waiting_ns);
	json_number(j, "memory_bytes", c.memory);
	json_number(j, "shared_memory_bytes", c.shared_memory);
	json_number(j, "collector_cpu_ns", model_counters(m, "collector_cpu_ns"));
	json_number(j, "stored_bytes", model_counters(m, "stored_bytes"));
	json_end_object(j);
}

void cost_text(struct buf *out, const struct term *t, const struct model *m)
{
	struct cost c = cost_of(m);
	struct human a, b, d, e, f;

	if (!model_counters(m, "setup_ns"))
		return; /* made by something that does not measure */
	if (c.known)
		about_line(out, t, "cost", "Memoir cost this program about %.*f %%: %s",
			   c.percent < 10, c.percent, human_duration(&a, c.total_ns));
	else
		about_line(out, t, "cost", "too few events to tell");
	about_line(out, t, "", "%s recording, %s setting up, %s waiting; %s of memory, %s shared",
		   human_duration(&a, c.recording_ns), human_duration(&b, c.setup_ns),
		   human_duration(&d, c.waiting_ns), human_size(&e, c.memory),
		   human_size(&f, c.shared_memory));
}
