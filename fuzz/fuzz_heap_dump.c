/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profile dumps of any bytes: indices lead inside, estimates are numbers, and a dump that is
 * written with its names has the same stacks of addresses when it is read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "fuzz.h"
#include "heap/dump.h"
#include "heap/report.h"

extern const struct heap_report heap_report_raw;

static int gather(void *context, const void *bytes, size_t size)
{
	buf_add(context, bytes, size);
	return 0;
}

/* Without its maps, so that no file that an input names is opened. */
static void name(struct profile *p, struct dump *d)
{
	struct err err;

	profile_init(p, &(struct profile_options){ .thread = PROFILE_ALL_THREADS },
		     &(struct heap_locations_options){ 0 });
	d->map_count = 0;
	profile_add(p, d, 1);
	if (profile_finish(p, &err))
		abort();
}

static void write_and_read(struct dump *d, const char *bytes, size_t size)
{
	struct buf written = { 0 };
	struct profile before, after;
	struct dump again;
	struct sink sink;
	struct err err;

	name(&before, d);
	sink_to_function(&sink, gather, &written, SINK_PLAIN);
	if (heap_report_raw.write(&before,
				  &(struct heap_report_options){ .dump = bytes, .dump_size = size },
				  &sink, &err) ||
	    sink_finish(&sink, &err))
		abort();
	if (dump_read(&again, written.data, written.size, &err) || again.pc_count != d->pc_count ||
	    again.stack_count != d->stack_count)
		abort();
	name(&after, &again);
	/* A name may be another one where addresses are a byte apart, which those of calls never
	 * are. */
	if (after.sample_count != before.sample_count || after.site_count != before.site_count)
		abort();
	profile_release(&before);
	profile_release(&after);
	dump_release(&again);
	buf_release(&written);
}

FUZZ(heap_dump, data, size)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct err err;
	struct dump d;
	int error;

	if (size)
		memcpy(exact, data, size);
	error = dump_read(&d, exact, size, &err);
	for (size_t i = 0; i < d.stack_count; i++) {
		const struct dump_stack *s = &d.stacks[i];

		if (s->pc + s->pc_count > d.pc_count || s->share + s->share_count > d.share_count ||
		    isnan(dump_scale(&s->counts, d.rate).bytes))
			abort();
		for (size_t k = 0; k < s->pc_count; k++) {
			const struct dump_map *m = dump_map_of(&d, d.pcs[s->pc + k]);

			if (m && (m->start > d.pcs[s->pc + k] || m->end <= d.pcs[s->pc + k] ||
				  strlen(m->build_id) > 2 * DUMP_BUILD_ID_MAX))
				abort();
		}
	}
	for (size_t i = 1; !error && i < d.name_count; i++)
		if (d.names[i].pc < d.names[i - 1].pc)
			abort();
	if (!error)
		write_and_read(&d, exact, size);
	dump_release(&d);
	free(exact);
	return 0;
}
