/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Memoir itself cost, for readers.  See cost.h. */
#include "cli/cost.h"

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "cli/about.h"

#define REASONS 3

/* What the collector needed while the program waited for it, most of it first. */
static void waits_text(struct buf *out, const struct term *t, const struct model *m)
{
	static const char *const names[REASONS] = { "the disk", "encoding", "a processor" };
	uint64_t cores = model_counters(m, "collector_cores"), all = 0,
		 ns[REASONS] = {
			 model_counters(m, "waited_for_disk_ns"),
			 model_counters(m, "waited_for_encoding_ns"),
			 model_counters(m, "waited_for_processors_ns"),
		 };
	struct buf text = { 0 };

	for (unsigned i = 0; i < REASONS; i++)
		all += ns[i];
	if (!all)
		return; /* it did not wait, or what made this does not know */
	for (;;) {
		unsigned most = 0;

		for (unsigned i = 1; i < REASONS; i++)
			most = ns[i] > ns[most] ? i : most;
		if (ns[most] * 100 < all)
			break;
		buf_printf(&text, "%s%s %s", text.size ? ", " : "", names[most],
			   share_text(ns[most], all));
		ns[most] = 0;
	}
	about_line(out, t, "", "waited for %s; the collector used %s %s", text.data,
		   count_text(cores), cores == 1 ? "core" : "cores");
	buf_release(&text);
}

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
	waits_text(out, t, m);
}
