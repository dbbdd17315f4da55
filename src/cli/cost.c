/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Memoir itself cost, for readers.  See cost.h. */
#include "cli/cost.h"

#include "base/human.h"
#include "cli/about.h"

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
