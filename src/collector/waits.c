/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program waited for when its rings were full.
 *
 * Called by the collector's loop, twenty times a second and at the end.  The recorder counts how
 * long its threads waited for room (ring_wait_ns); between two looks this side knows what it did
 * with that time: it was blocked in writing (the disk, or whoever reads a pipe), it computed, or it
 * was ready and other threads had the processors.  So the waits since the last look are divided
 * like that. */
#include <inttypes.h>
#include <stdio.h>

#include "base/now.h"
#include "base/read_file.h"
#include "collector/collector.h"

/* How long the calling thread was ready without a processor, ever; 0: the kernel does not say. */
static uint64_t delay_ns(void)
{
	char text[100];
	uint64_t delay = 0;

	read_short_file("/proc/thread-self/schedstat", text, sizeof(text));
	if (sscanf(text, "%*u %" SCNu64, &delay) != 1)
		return 0;
	return delay;
}

/* `part` of `all` of the waits. */
static uint64_t share_of(uint64_t waited, uint64_t part, uint64_t all)
{
	return (uint64_t)((double)waited * (double)part / (double)all);
}

void waits_look(struct collector *c)
{
	struct collector_waits *w = &c->waits;
	uint64_t seen = atomic_load_explicit(&c->control->counters[COUNTER_ring_wait_ns],
					     memory_order_relaxed);
	uint64_t blocked = c->recording.blocked_ns, cpu = now_on(CLOCK_THREAD_CPUTIME_ID);
	uint64_t delay = delay_ns(), waited = seen - w->seen_ns;
	uint64_t disk = blocked - w->blocked_ns, encoding = cpu - w->cpu_ns;
	uint64_t processors = delay - w->delay_ns, all = disk + encoding + processors;

	w->seen_ns = seen;
	w->blocked_ns = blocked;
	w->cpu_ns = cpu;
	w->delay_ns = delay;
	if (!waited || !all)
		return;
	disk = share_of(waited, disk, all);
	encoding = share_of(waited, encoding, all);
	w->disk_ns += disk;
	w->encoding_ns += encoding;
	w->processors_ns += waited - disk - encoding;
}
