/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Memoir itself cost, for readers.  See cost.h. */
#include "cli/cost.h"

#include "base/human.h"
#include "cli/about.h"

void cost_text(struct buf *out, const struct term *t, const struct model *m)
{
	struct cost c = cost_of(m);

	if (!model_counters(m, "setup_ns"))
		return; /* made by something that does not measure */
	if (c.known)
		about_line(out, t, "cost", "Memoir cost this program about %.*f %%: %s",
			   c.percent < 10, c.percent, duration_text(c.total_ns));
	else
		about_line(out, t, "cost", "too few events to tell");
	about_line(out, t, "", "%s recording, %s setting up, %s waiting; %s of memory, %s shared",
		   duration_text(c.recording_ns), duration_text(c.setup_ns),
		   duration_text(c.waiting_ns), size_text(c.memory), size_text(c.shared_memory));
}
